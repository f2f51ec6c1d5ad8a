// Types of the data and events that scripts share. A script names those that it uses:
//
//   /** @import { Layer, Scene } from "./types.d.ts" */

/** Bytes of `dpviz.plots.scene.pack`. */
export type Packed = Uint8Array<ArrayBuffer>;

export type Numbers =
  | Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Uint8Array<ArrayBuffer> | Int8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer> | Int16Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

export interface NumberArray {
  data: Numbers;
  /** Rows first, then marks. */
  shape: number[];
}

export type Pair = [number, number];
export type Point = readonly number[];
/** Component c of mark i. */
export type Reader = (i: number, c?: number) => number;

/** What is inside of an element. */
export type Parts = string | (Node | string)[];

// ---- A picture, as dpviz/plots/scene.py packs it ----

export type Kind = "points" | "marks" | "circles" | "arrows" | "segments" | "trails" | "heat" | "lines" | "bars" | "bands"
  | "grid" | "cursor" | "light" | "ensemble";
export type Role = "exact" | "released" | "noise" | "public" | "violation" | "cluster" | "reference";
export type Audience = "curator" | "released" | "public" | "noise";

export interface Layer {
  name: string;
  kind: Kind;
  role: Role;
  audience: Audience;
  arrays: Record<string, NumberArray>;
  /** The row that each frame shows; -1: none. */
  rows: number[];
  symbol: string;
  size: number;
  dash: boolean;
  fill: number;
  names: string[];
  legend: boolean;
  shown: boolean;
  isolate: boolean;
  hue: number;
  pick: string;
  total: number;
  glides?: "" | "index" | "place";
  ids?: (number | string)[];
  hub?: string;
  label?: string;
  /** The page's own arrays, while a drawing stands in their place. */
  given?: Record<string, NumberArray>;
}

export interface Axis {
  label: string;
  unit: string;
  view: Pair;
  values: Pair;
  ticks: boolean;
  log: boolean;
  whole: boolean;
  names: string[];
  ends: Pair | null;
}

export interface Scene {
  title: string;
  alt: string;
  caption: string;
  hash: string;
  x: Axis;
  y: Axis;
  layers: Layer[];
  /** Label and detail of each step. */
  frames: [string, string][];
  start_frame: number;
  equal: boolean;
  scrubber: boolean;
  group_names: string[];
  pace: number;
  eased?: boolean;
  solid: Pair | null;
  place?: Pair;
  stage?: StageWords;
  /** The lens on one person. Curator only. */
  lens?: {
    /** The place that it enlarges, scene coordinates. */
    at: Pair;
    radius: number;
    words: string;
    /** Of the worlds with the person and without. */
    names: [string, string];
    /** How often the best attacker is right about her, from 0.5 to 1. */
    rate: number;
    arrays: { ends: NumberArray; glass: NumberArray; dots: NumberArray; inside: NumberArray };
  };
}

export interface Measure {
  value: number;
  text: string;
  /** [times this ε, low, middle, high], ascending; none: one run's. */
  law: [number, number, number, number][];
}

export interface Strip {
  label: string;
  unit: string;
  short: string;
  low: number;
  high: number;
  lines: [number, string][];
  log: boolean;
}

/** The words beside a picture on the stage. */
export interface StageWords {
  finding: string;
  lede: string;
  verdict: "proved" | "claimed" | "broken";
  guarantee: string;
  risk: Measure | null;
  risk_label: string;
  strip: Strip | null;
  loss: Measure | null;
}

// ---- The live picture ----

/** Room around the box on a stage, CSS pixels. */
export interface Margins {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Tick {
  at: number;
  text: string;
  /** Without a line. */
  bare?: boolean;
}

export interface Box extends Size {
  left: number;
  top: number;
}

/** A drawing that the page keeps: see dpviz/ui/data/drawing.py. */
export interface Drawing {
  id: string;
  number: number;
  classes: string | number[];
  undo: boolean;
  most: number;
}

/** Options of a picture, all of which may be left out. */
export interface Options {
  /** Its name on the page. */
  key?: string;
  /** CSS pixels. */
  height?: number;
  /** As high as the window leaves room; `scroller` scrolls, and `surround` stands around the picture. */
  fits?: boolean;
  scroller?: Element | null;
  surround?: Element | null;
  /**
   * The public box alone, on a stage: `size` is that of the canvas, left out as wide as there is room; on a `phone` the box
   * has no margins. Axes have their ends alone, marks are named where they stand, and layers, zoom, selection and table are
   * in the menu that `picture.layersMenu(button)` gives a button.
   */
  stage?: boolean;
  size?: Size | null;
  phone?: boolean;
  /** False if the page says the title itself. */
  named?: boolean;
  /** Alone in another page: without a caption, and with `fits` all of its legend is in view. */
  whole?: boolean;
  /** Without tools and table, with a legend that describes the marks and switches nothing. */
  plain?: boolean;
  /** Its numbers are not exact, and show nothing before `picture.refine(other)` has brought exact ones. */
  coarse?: boolean;
  /** The step it opens with, from 0; else the scene's own. */
  frame?: number | null;
  /** Key of the picture whose steps this one shows. */
  follow?: string;
  /** The cluster seen alone, and the number of the last pick, of a picture that was here before. */
  selected?: number | null;
  picks?: number;
  /** That points can be selected, and the region that is. */
  select?: { region: Pair[] | null; number: number };
  /** What is inside of a region, by its number. */
  inspected?: { number: number; lines: string[] };
  /** That points can be drawn. */
  drawing?: Drawing | null;
  /** Scroll to the picture when it is drawn. */
  arrive?: boolean;
  /** Whether the lens on one person is on; none: the picture has no lens to turn on. */
  lens?: boolean;
}

/** What the reader can do to a picture beyond zoom and steps. */
export interface PictureTools {
  tool: string | null;
  /** Whether the pointer drags something. */
  readonly isDragging: boolean;
  bar: HTMLElement;
  selectors: HTMLElement;
  inspector: HTMLElement;
  update(first: boolean): void;
  show(): void;
  down(from: Pair, isTouch: boolean): void;
  move(to: Pair): void;
  up(): void;
  cancel(): void;
  key(event: KeyboardEvent): boolean;
  patch(): void;
  undo(): void;
  draw(ctx: CanvasRenderingContext2D, scale: Scale): void;
  destroy(): void;
}

/** Colors and type of a page: those of look.json for its lightness, with its own text and font. */
export interface Theme {
  name: "light" | "dark";
  background: string;
  box: string;
  text: string;
  font: string;
  exact: string;
  released: string;
  noise: string;
  public: string;
  violation: string;
  without: string;
  clusters: string[];
  grid: string;
  axis: string;
  points: number;
  drained: string;
  lit: string;
  unlit: string;
  tint: number;
  /** The place in the palette of each cluster; none: its own number. */
  slots?: number[] | null;
  /** Whether all points are dots. */
  round?: boolean;
}

/** How many times larger than at first, and the middle as shares of the axes. */
export interface Zoom {
  k: number;
  x: number;
  y: number;
}

/** Linear maps between scene coordinates and CSS pixels. */
export interface Scale {
  window: [Pair, Pair];
  kx: number;
  ky: number;
  x(at: number): number;
  y(at: number): number;
  left(px: number): number;
  up(px: number): number;
  /** How much larger marks are than their layers say. */
  grow?: number;
}

/** Where the marks of a layer start, and which marks of the old layer they were, -1 for none. */
export interface Way {
  starts: Record<string, Float64Array>;
  was: Int32Array;
  left: Set<number>;
}

/** An old layer on its way out, and which of its marks; null: all. */
export interface Leaving {
  layer: Layer;
  row: number;
  marks: Set<number> | null;
}

/** The way from one scene to the next. */
export interface Glide {
  ways: Map<Layer, Way | "new">;
  leaving: Leaving[];
  start: number;
}

/** How a layer is drawn at a share of a glide: where its marks start, how visible each of them and all are. */
export interface Passage {
  starts: Record<string, Float64Array> | null;
  there(i: number): number;
  fade: number;
}

/** A mark or a layer that a click would pick. */
export interface Lifted {
  name: string;
  pick: string;
  i: number | null;
}

export interface Spot {
  i: number;
  side: Side;
  rect: Rectangle;
}
export type Side = "left" | "right" | "above" | "below";
/** Left, top, right, bottom. */
export type Rectangle = [number, number, number, number];
/** A name as an image, and the pixels around its words. */
export interface Tag extends Size {
  image: HTMLCanvasElement;
  pad: number;
  wide: number;
}
export interface Label extends Spot {
  words: string;
  layer: Layer;
}
export interface Pin {
  x: number;
  y: number;
  side: "left" | "right" | "top" | "bottom";
}

/** What is kept from one frame to the next. */
export interface Cache {
  orders: WeakMap<Layer, Map<NumberArray | null, Map<number, { starts: Uint32Array; index: Uint32Array }>>>;
  heats: WeakMap<Layer, Map<string, HTMLCanvasElement>>;
  points: Map<string, HTMLCanvasElement>;
  sprites: Map<string, HTMLCanvasElement>;
  gliding?: HTMLCanvasElement;
  pixels?: ImageData;
  paths?: WeakMap<Layer, { key: string; paths: Path2D[] }>;
  mists?: Map<string, { canvas: HTMLCanvasElement; layer?: Layer; next?: Layer; key?: string }>;
  spots?: Map<string, Spot>;
  labels?: { key: string; placed: Label[] };
  tags?: Map<string, Tag>;
  pins?: WeakMap<Layer, { row: number; pins: Pin[] }>;
}
/** How a picture is seen now. */
export interface View extends Size {
  frame: number;
  /** The frame that it eases from, and how far it has come. */
  from: number;
  t: number;
  glide: Glide | null;
  glided: number;
  zoom: Zoom;
  /** Names of layers that are switched off. */
  hidden: Set<string>;
  isolated: number | null;
  lifted: Lifted | null;
  pointed: { name: string; i: number } | null;
  dpr: number;
  theme: Theme;
  cache: Cache;
  /** On a stage. */
  margins: Margins | null;
  phone: boolean;
  large: number;
}

/** How one layer is drawn now. */
export interface Look extends View {
  scale: Scale;
  ends: [Pair, Pair];
  row: number;
  faint: number;
  starts: Record<string, Float64Array> | null;
  /** How much of its color each record loses. */
  drain: NumberArray | null;
  /** How visible mark i is: by its own opacity, by the pointer, and while it comes or goes. */
  there(i: number): number;
  /** How visible marks of a cluster are. */
  alpha(group: number): number;
}

/** A cell of a grid. */
export interface Cell {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  value: number;
  group: number | null;
}

/** What is under the pointer. */
export interface Found {
  layer: Layer;
  row: number;
  i: number;
  x: number;
  y: number;
  distance: number;
  group?: number;
  beneath?: Found;
  low?: number;
  high?: number;
  cell?: Cell;
}

/** A table with the numbers of a layer. */
export interface Table {
  caption: string;
  head: string[];
  rows: string[][];
  total: number;
  which?: "first" | "fullest";
}

/** Events of a picture, a stage and a slider, with what each tells. */
export interface DpvizEvents {
  /** New data are on the screen; `stage` are the words that came with them. */
  "dpviz:drawn": CustomEvent<{ key?: string; stage: StageWords | null }>;
  /** Another step of `frames` is shown, by whatever. */
  "dpviz:frame": CustomEvent<{
    key?: string; frame: number; frames: number; label: string; detail: string; ease: boolean; stage: StageWords | null;
  }>;
  /** The steps play, or no more. */
  "dpviz:playing": CustomEvent<{ key?: string; playing: boolean }>;
  /** The step, from 0, that the reader or the play button went to; see `picture.chosen`. */
  "dpviz:step": CustomEvent<number>;
  /** The cluster seen alone, or null. */
  "dpviz:selected": CustomEvent<number | null>;
  /** Pick of a layer, number, mark or null. */
  "dpviz:picked": CustomEvent<[string, number, number | null]>;
  /** Number and corners of a selection, scene coordinates. */
  "dpviz:region": CustomEvent<[number, Pair[]] | null>;
  /** Id, number, x, y and class of each point, and whether to undo. */
  "dpviz:sketched": CustomEvent<[string, number, number[], boolean]>;
  /** Number, yaw and pitch of a solid picture, degrees. */
  "dpviz:turned": CustomEvent<[number, number, number]>;
  "dpviz:audience": CustomEvent<string>;
  "dpviz:count": CustomEvent<number>;
  "dpviz:finding": CustomEvent<{ text: string; who: string }>;
}

/** What an event tells, by its name without the prefix. */
export type Detail<Name extends string> = `dpviz:${Name}` extends keyof DpvizEvents ? DpvizEvents[`dpviz:${Name}`]["detail"] : never;
export type Events = WindowEventMap & DocumentEventMap & HTMLElementEventMap & MediaQueryListEventMap & DpvizEvents;

declare global {
  /** Style sheets by name, in a script for a page without a server: see dpviz/assets/__init__.py. */
  const SHEETS: Record<string, string>;
  interface HTMLElementEventMap extends DpvizEvents {}
  interface DocumentEventMap extends DpvizEvents {}
  interface ShadowRootEventMap extends DpvizEvents {}
}

// ---- A component of Streamlit ----

/** What Streamlit gives a component with every update. */
export interface Given<Data = unknown> {
  data: Data;
  key: string;
  name: string;
  parentElement: HTMLElement | ShadowRoot;
  setStateValue(name: string, value: unknown): void;
  setTriggerValue(name: string, value: unknown): void;
}

// ---- Parts of scripts ----

/** Who answers, and the query of the screen; null: no address. */
export interface Session {
  session?: string;
  query?: string | null;
}
/** The part of a view that says which layers are shown. */
export type Shown = Pick<View, "frame" | "hidden">;
/** How a picture with names is seen. */
export type Sight = View & { scale: Scale; type: number };
/** Where a mark is named: its middle and how far it reaches, pixels. */
export interface Anchor {
  x: number;
  y: number;
  reach: number;
}
/** How a layer with names is seen. */
export type Seen = Sight & Pick<Look, "row" | "from" | "t" | "starts" | "glided">;
export type ToolName = "box" | "lasso" | "spray" | "pen" | "erase";
/** Points being drawn. */
export interface Sheet {
  number: number;
  xy: Pair[];
  classes: number[];
}
/** What is being dragged, or set by keys. */
export interface Stroke {
  at: Pair[];
  from?: Pair;
  grabbed?: number;
  moved?: boolean;
  keyed?: boolean;
}
/** The model of a notebook's widget. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, run: () => void): void;
  off(event: string, run: () => void): void;
}
