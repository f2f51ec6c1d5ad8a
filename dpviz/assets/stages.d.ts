// Types of what the page sends to the stages and their sliders, beside those of the picture in types.d.ts.

import type { Box, DpvizEvents, Given, Options, Packed, Pair, Size } from "./types.d.ts";

export type * from "./types.d.ts";

// ---- The slider: dpviz/ui/controls.py ----

export interface SliderData {
  key: string;
  label: string;
  left: string;
  right: string;
  help?: string;
  values: number[];
  texts: string[];
  spoken: string[];
  notes: string[];
  index: number;
  move: number | null;
}

// ---- The instrument ----

/** A mark of a real deployment. */
export interface Mark {
  index: number;
  value: string;
  name: string;
  description: string;
}

/** Marks of one value. */
export interface Gathered {
  index: number;
  name: string;
  text: string;
}

/** Low, middle and high of what is lost. */
export type Band = [number, number, number];

export interface InstrumentData extends SliderData {
  marks: Mark[];
  /** What the marks are, until one is pointed at. */
  hint: string;
  /** What the bands belong to; with another key they are forgotten. */
  bandKey?: string | null;
  bands?: (Band | null)[];
  /** Whether no picture comes ahead of the page. */
  unaccompanied?: boolean;
}

export interface Move {
  slider: string;
  index: number;
  number: number;
  /** Holds the next move back until there is an answer: whether the picture has come. */
  wait(picture: Promise<boolean>): void;
}

export interface StageEvents {
  "dpviz:moving": CustomEvent<Move>;
  "dpviz:moved": CustomEvent<[index: number, number: number]>;
  "dpviz:band": CustomEvent<{ slider: string; index: number; values: Band }>;
  "dpviz:ahead": CustomEvent<{ move: number; key: string; body: Packed }>;
  "dpviz:open": CustomEvent<string>;
}

declare global {
  interface HTMLElementEventMap extends StageEvents {}
  interface DocumentEventMap extends StageEvents {}
  interface ShadowRootEventMap extends StageEvents {}
  interface WindowEventMap extends StageEvents, DpvizEvents {}
}

// ---- Compare: dpviz/tools/compare/stage.py ----

export interface CompareMap {
  key: string;
  name: string;
  short: string;
  proved: boolean;
  promise: string;
  /** Number and unit at each ε. */
  numbers: [string, string][];
  centers: (number[] | null)[];
  /** Centers of some runs at each ε, as bytes; none for everyone. */
  haze: string[][];
  /** Median cost at each ε, × without privacy; none for everyone. */
  costs: (number | null)[];
  /** The column from which on it works, and this in words. */
  first: number | null;
  reach: string;
}

export interface CompareData {
  public: boolean;
  epsilons: number[];
  texts: string[];
  findings: string[];
  lede: string;
  /** A second sentence where there is room. */
  middle: string;
  asked: [string, string];
  /** Most right guesses at each ε, in words and as a share of the way from 50 to 100. */
  prices: [string, number][];
  spoken: string[];
  conditions: [string, string][];
  aspect: number;
  flat: boolean;
  most: number;
  records: number[] | null;
  maps: CompareMap[];
  key: string;
  index: number;
  move: number | null;
  fixed: boolean;
  chosen: string | null;
  share: number | null;
  picks: number;
  views: [string, string] | null;
  query: string | null;
  session?: string;
}

/** A method's words and maps. */
export interface CompareRow {
  key: string;
  map: CompareMap;
  button: HTMLButtonElement;
  cells: HTMLCanvasElement[];
  name: HTMLElement;
  number: HTMLElement;
  unit: HTMLElement;
  /** Centers of the run shown, and of the haze's runs, at each ε. */
  centers: (Pair[] | null)[];
  haze: Pair[][][];
}

// ---- Audit: dpviz/tools/audit/pictures.py and page.py ----

export type Tone = "broken" | "open" | "kept";

/** What the first runs of both worlds show. */
export interface AuditStep {
  n: number;
  right: number;
  wrong: number;
  /** The most right words that the promise allows. */
  allowed: number;
  leak: number;
  leak_text: string;
  most: number;
  finding: string;
  tone: Tone;
  /** Runs in each column of each world. */
  columns: number[][];
}

export interface AuditResult {
  /** Hash of the picture. */
  scene: string;
  promised: number | null;
  promised_text: string;
  note: string;
  worlds: [string, string];
  says: string;
  first_is_likely: boolean;
  /** The first column beyond the attacker's threshold. */
  edge: number;
  played: AuditStep[];
  verdict: string;
  words: string;
  title: string;
  paragraphs: string[];
  lines: { name: string; kind: "attack" | "limit" | "best" | "coin"; points: Pair[] }[];
}

export interface AuditData {
  key: string;
  label: string;
  values: number[];
  texts: string[];
  index: number;
  move: number | null;
  /** Whether ε can be moved. */
  moves: boolean;
  results: (AuditResult | null)[];
  status: "done" | "running" | "stopped" | "hidden" | "failed";
  said: string;
  share: number;
  promised: string;
  lede: string;
  worlds: [string, string];
  columns: number;
  whom: [boolean, boolean];
  audience: string | null;
  audiences: [string, string][];
  method: string | null;
  methods: [string, string][];
  short: string;
  who: string;
  mode: string | null;
  modes: [string, string][];
  switch: string[];
}

/** What the axis shows: numbers, null where there is none. */
export interface AuditLook {
  epsilon: number;
  promised: number | null;
  leak: number | null;
  most: number | null;
  tone: Tone;
  said: string;
  small: boolean;
}

/** A step as it is drawn, maybe on its way from that of another result. */
export interface Drawn extends AuditStep {
  scene: string;
  edge: number;
  /** Where the line between the worlds lies, as a share of the height. */
  middle: number;
}

/** What the picture shows. */
export interface AuditView {
  /** Inside of the canvas. */
  box: Box;
  full: Size;
  worlds: [string, string];
  columns: number;
  result: AuditResult | null;
  step: AuditStep | null;
  /** The step before, while runs are played. */
  before: AuditStep | null;
  isPlaying: boolean;
  brief: boolean;
  unit: number;
}

// ---- The stage: dpviz/ui/stage.py ----

export interface StagePicture extends Options {
  key: string;
  /** null: the picture that is there stays. */
  packed: Packed | null;
}

/** A whole number that stands below the picture, as k. */
export interface StageCount {
  label: string;
  value: number;
  low: number;
  high: number;
}

/** The home page, where a question stands over all. */
export interface Home {
  question: string;
  definition: string;
  /** The ways to begin: words and pages. */
  actions: [string, string][];
  /** CSS pixels left below the pictures. */
  below: number;
}

export interface StageData {
  pictures: StagePicture[];
  /** The slider and its strips; none: ε cannot be moved. */
  instrument?: InstrumentData | null;
  /** Who looks, and who may: [name, words]; none: nobody chooses. */
  audience?: { value: string; choices: [string, string][] } | null;
  count?: StageCount | null;
  /** A sentence about this very picture, after its guarantee. */
  mark?: string;
  /** Id of the element that "Details" opens, in the page around. */
  why?: string | null;
  /** Whether ε moves once by itself. */
  sweeps?: boolean;
  /** What scrolls. */
  scroller?: Element | null;
  home?: Home | null;
  /** Whether the home page's ways are addresses, which the browser opens. */
  linked?: boolean;
  /** Place of the ε of the pictures, where it is not the instrument's. */
  shown?: number | null;
  /** Whether it stands among other things: ε is not docked to the window. */
  free?: boolean;
  /** Of the pictures, CSS pixels; else they are as high as the window leaves room. */
  height?: number;
}

// ---- Menus: dpviz/ui/export/menu.py ----

/** How an imported picture stood. */
export interface ImportedState {
  /** Hash of the picture. */
  scene: string;
  frame: number;
  /** Names of layers that are switched off. */
  off: string[];
}

export interface Exported {
  formats: [name: string, words: string][];
  /** Key of the picture. */
  picture: string;
  restore?: ImportedState | null;
  /** Of the file that was asked for. */
  number: number;
  problem: string;
  name: string;
  type: string;
  raster: boolean;
}

// ---- The page's messages: dpviz/ui/stage.py, ahead.py, progress of long work, the course ----

/** What the page offers to send ahead of its rerun. */
export interface AheadOffer {
  address: string;
  /** Key of the slider. */
  slider: string;
  /** Number of the move that the page has followed. */
  move?: number;
  /** Key of the bands that can be asked for; none: there are none. */
  bands?: string | null;
  /** The bands that the page has, by value. */
  known?: (Band | null)[];
}

export interface BandAnswer {
  band: number;
  values: Band | null;
  key: string;
}

export interface SentStage extends Omit<StageData, "pictures"> {
  query: string | null;
  session?: string;
  ahead?: AheadOffer | null;
  /** Options of each picture, and how many bytes it has. */
  pictures: (Options & { key: string; length: number })[];
}

export interface WaitData {
  done: number;
  all: number;
  what: string;
  /** Key of the picture. */
  follow: string;
  /** Address of the short way; "": none. */
  peek: string;
  /** Words where the number of pieces is no measure, and the share that is done. */
  said: string | null;
  share: number | null;
  /** Milliseconds: between two questions, after a new picture, and between two drawings. */
  every: number;
  quiet: number;
  redrawn: number;
  /** Whether the work begins when somebody looks at the line. */
  unseen?: boolean;
}

export interface CourseData {
  /** Those of the path, the end, and others. */
  chapters: { name: string; title: string; link: string }[];
  /** How many the path has, and the title over the others. */
  path: number;
  more: string;
  at: number;
  done: boolean;
  prints: boolean;
}

// ---- Published pages: dpviz/publishing/files.py ----

/** The place of a state among all of a page. */
export interface PageAt {
  mode: number;
  seed: number;
  audience: number;
  stop: number;
  asked: boolean;
}

/** Keys of the arrays of a scene. */
export interface ScenePart {
  header: string;
  arrays: string[];
}

export interface PicturePart extends ScenePart {
  key: string;
  /** Whether it stands on the stage. */
  stage?: boolean;
  height?: number;
  fits?: boolean;
  named?: boolean;
  follow?: string;
  whole?: boolean;
}

/** The directory of a state: keys of its frame, of the words in that, and of its pictures. */
export interface PageState {
  frame: string;
  leaves: string[];
  pictures: PicturePart[];
}

/** What a page has. */
export interface SiteIndex {
  /** Name of the state that the page opens with. */
  first?: string;
  slider: InstrumentData | null;
  control: { label: string; words: string[]; index: number; plays: boolean } | null;
  /** Values of the control in links. */
  stops: (string | number)[];
  question: { right: number; verdicts: Record<string, string> } | null;
  /** Name of the slider or the control in links. */
  knob: string;
  audiences: string[];
  seeds: number[];
  /** Name of the choice among modes in links. */
  mode: string;
  modes: string[];
  modeWords: string[];
  switches: Record<string, { label: string; words: string[] }>;
  staged: boolean;
  home: Home | null;
  tool?: boolean;
  why: boolean;
  /** At each stop, for each mode. */
  bands: (Band | null)[][];
  /** Addresses of the same page with other data, by name. */
  sets?: Record<string, string>;
  /** The step that a page to keep opens with, from 1. */
  frame?: string;
}

export interface SiteOptions {
  main: HTMLElement;
  /** Has the name of the state that is shown. */
  marked: HTMLElement;
  query: URLSearchParams;
  /** Of the page's folder. */
  base: URL;
}

/** The stage of Compare or Audit on a published page. */
export interface Tool {
  data: { epsilons?: number[]; values?: number[]; index: number };
  values: number[];
  index: number;
  opens: number;
  host: Element;
  script: Promise<[start: (given: Partial<Given<Tool["data"]>>) => () => void, sheet: string]>;
  root?: ShadowRoot;
  end?: () => void;
}

declare global {
  interface Window {
    dpvizIndex(index: SiteIndex): void;
    dpvizData(name: string, ...packed: unknown[]): void;
  }
}

// ---- A class: dpviz/ui/classes.py ----

export interface ClassQuestion {
  name: string;
  words: string;
  choices: string[];
}

export interface ClassStep {
  name: string;
  title: string;
  /** HTML of the app. */
  words: string;
  pictured: boolean;
  /** Whether there is something to tell. */
  tells: boolean;
  questions: ClassQuestion[];
}

/** The right answer. */
export interface Told {
  right: number;
  /** HTML of the app. */
  why: string;
}

export interface ClassNews {
  /** Number of the news. */
  seen: string;
  step: number;
  /** By question, once everyone is told. */
  told: Record<string, Told>;
}

export interface StudentNews extends ClassNews {
  /** The student's own choices, by question. */
  chosen: Record<string, number>;
}

export interface TeacherNews extends ClassNews {
  /** How many look at their screens. */
  students: number;
  /** Whether new students can join. */
  open: boolean;
  /** How many have answered each question, and each choice of it. */
  answered: Record<string, number>;
  counts: Record<string, number[]>;
}

// ---- Parts of scripts ----

/** A run, CSS pixels. */
export interface Dot {
  x: number;
  y: number;
  radius: number;
}
/** A page of the site, and what is asked of it. */
export interface FoundPage {
  index: SiteIndex;
  base: URL;
  query: URLSearchParams;
}
/** Places of a drawing, CSS pixels. */
export interface Places {
  at: number;
  width: number;
  strip: number;
  first: number;
  second: number;
}
/** A release that this browser remembers. */
export interface Release {
  id: string;
  rows?: number;
}
/** The Share menu: dpviz/ui/export/menu.py. */
export interface Shared {
  link: string;
  address: string;
  source: string;
  words: string;
}
/** A file as text; one that is dense has its size in bytes. */
export type PackedText = [text: string, size?: number];
export type Codes = [size: number, low: number[], step: number[], sorted: boolean];
/** Drawings for one ZIP: dpviz/tools/teaching/page/plans.py. */
export interface StillsData {
  name: string;
  words: string;
  files: [name: string, length: number][];
}
/** The line about other tabs: dpviz/ui/tabs.py. */
export interface TabsData {
  own: boolean;
  asks: boolean;
  here: string;
  there: string;
}
