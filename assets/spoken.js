// Texts that a person reads. In another language the server puts a translation in their place before it sends a script.

/** The text with what is filled in: {0} is the first. */
export const spoken = (text, ...filled) => text.replace(/\{(\d)\}/g, (_, number) => filled[number]);
