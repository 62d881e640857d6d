# The gate as a shell script with jq: the same decision as the one for node.
event=$(cat)
cwd=$(printf '%s' "$event" | jq -r .cwd)
printf '%s' "$event" | jq -c --slurpfile state "$cwd/.develop-workflow/state.json" '
  . as $event | $state[0] as $state
  | (if $event.tool_name == "Bash" then $event.tool_input.command else "" end) as $command
  | (["Write", "Edit", "MultiEdit", "NotebookEdit"] | index($event.tool_name)) as $writes
  | (if $command | test("\\bgit\\s+push\\b|\\bgh\\s+pr\\b") then $state.gates | keys
     elif $state.phase == "IMPLEMENT" and $writes then ["review_clean_pass"]
     elif $state.phase == "PR" and $writes then ["review_clean_pass", "architect_verified"]
     else [] end)
  | map(select($state.gates[.] | not))
  | select(length > 0)
  | {hookSpecificOutput: {hookEventName: "PreToolUse", permissionDecision: "deny",
     permissionDecisionReason: ("closed: " + join(", "))}}'
