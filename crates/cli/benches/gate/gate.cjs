// The gate as a script for node: the state file, the phase, the gates, a pattern over the command.
const fs = require("fs");
const event = JSON.parse(fs.readFileSync(0, "utf8"));
const state = JSON.parse(fs.readFileSync(event.cwd + "/.develop-workflow/state.json", "utf8"));
const { phase, gates } = state;
const writes = ["Write", "Edit", "MultiEdit", "NotebookEdit"].includes(event.tool_name);
const command = event.tool_name === "Bash" ? event.tool_input.command : "";
let missing = [];
if (phase === "IMPLEMENT" && writes) missing = ["review_clean_pass"];
if (phase === "PR" && writes) missing = ["review_clean_pass", "architect_verified"];
if (/\bgit\s+push\b|\bgh\s+pr\b/.test(command)) missing = Object.keys(gates);
missing = missing.filter((gate) => !gates[gate]);
if (missing.length > 0) {
  console.log(JSON.stringify({ hookSpecificOutput: { hookEventName: "PreToolUse",
    permissionDecision: "deny", permissionDecisionReason: "closed: " + missing.join(", ") } }));
}
