# The gate as a script for Python: the same decision as the one for node.
import json
import re
import sys

event = json.load(sys.stdin)
with open(event["cwd"] + "/.develop-workflow/state.json") as file:
    state = json.load(file)
phase, gates = state["phase"], state["gates"]
writes = event["tool_name"] in ("Write", "Edit", "MultiEdit", "NotebookEdit")
command = event["tool_input"].get("command", "") if event["tool_name"] == "Bash" else ""
missing = []
if phase == "IMPLEMENT" and writes:
    missing = ["review_clean_pass"]
if phase == "PR" and writes:
    missing = ["review_clean_pass", "architect_verified"]
if re.search(r"\bgit\s+push\b|\bgh\s+pr\b", command):
    missing = list(gates)
missing = [gate for gate in missing if not gates[gate]]
if missing:
    print(json.dumps({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "closed: " + ", ".join(missing)}}))
