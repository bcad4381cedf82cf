// Makes mcptrust.lock.json from listing.jsonl. Run by hand: node make.mjs
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const hash = (text) => "sha256:" + createHash("sha256").update(text, "utf8").digest("hex");
const byPoint = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const go = (v) => {
  if (Array.isArray(v)) return "[" + v.map(go).join(",") + "]";
  if (v && typeof v === "object") return "{" + Object.keys(v).sort(byPoint).map((k) => go(k) + ":" + go(v[k])).join(",") + "}";
  return JSON.stringify(v).replace(/[<>&\u2028\u2029]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
};
const lines = (text) => text.replace(/\r\n?/g, "\n").split("\n").map((l) => l.replace(/[ \t]+$/, "")).join("\n");
const optional = (o) => Object.fromEntries(Object.entries(o).filter(([, v]) => v));

const lock = {
  lockFileVersion: "3.0",
  meta: { generator: "mcptrust", updatedAt: "2026-11-30T12:00:00Z" },
  server: { name: "acme" },
  prompts: { definitions: {} },
  resources: { templates: [] },
  tools: {},
};
for (const line of readFileSync("listing.jsonl", "utf8").trim().split("\n")) {
  const { tools = [], prompts = [], resourceTemplates = [] } = JSON.parse(line).result;
  for (const t of tools) {
    const schema = t.inputSchema ?? {};
    lock.tools[t.name] = {
      description_hash: hash(t.description ?? ""),
      input_schema_hash: Object.keys(schema).length ? hash(go(schema)) : "",
      risk_level: "LOW",
    };
  }
  for (const p of prompts) {
    // The members of an argument are ASCII names: their order here is that of RFC 8785.
    const args = (p.arguments ?? []).map((a) => optional({ description: a.description, name: a.name, required: a.required }));
    args.sort((a, b) => byPoint(a.name, b.name));
    lock.prompts.definitions[p.name] = optional({ argumentsHash: hash(JSON.stringify(args)), descriptionHash: p.description && hash(lines(p.description)) });
  }
  for (const r of resourceTemplates) {
    lock.resources.templates.push(optional({
      uriTemplate: r.uriTemplate,
      templateHash: hash(JSON.stringify(optional({ mimeType: r.mimeType, uriTemplate: r.uriTemplate }))),
      nameHash: r.name && hash(lines(r.name)),
      descriptionHash: r.description && hash(lines(r.description)),
      mimeType: r.mimeType,
    }));
  }
}
lock.resources.templates.sort((a, b) => byPoint(a.uriTemplate, b.uriTemplate));
writeFileSync("mcptrust.lock.json", JSON.stringify(lock, null, 2) + "\n");
