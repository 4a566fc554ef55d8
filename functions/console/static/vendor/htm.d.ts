export { default } from "htm";
export * from "htm";
