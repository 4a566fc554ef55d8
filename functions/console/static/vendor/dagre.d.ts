export * from "@dagrejs/dagre";
