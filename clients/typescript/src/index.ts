export type * from "./api.ts";
export { type Answer, Client, type Init, type ListPath, type PathsWith, type Row } from "./client.ts";
export * from "./errors.ts";
// The API has a schema of this name too, for documents of refusals.
export { Problem } from "./errors.ts";
export { type ClientOptions, VERSION } from "./options.ts";
