"""A client of Waypost's MCP server, made with the official Python SDK.

Reads what to call from standard input, calls all of it in one conversation, and prints what came of it.
"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def plain(value):
    return json.loads(value.model_dump_json(by_alias=True))


async def call_all(session, calls):
    results, made = [], None
    for name, arguments in calls:
        if arguments.get("id") == "$made":
            arguments = {**arguments, "id": made}
        # The SDK checks the structured content against the tool's output schema.
        result = plain(await session.call_tool(name, arguments))
        if name in ("question_ask", "server_task_new"):
            made = result["structuredContent"]["id"]
        results.append({"name": name, "result": result})
    return results


async def read_all(session, more):
    listed = plain(await session.list_resources())["resources"]
    uris = [resource["uri"] for resource in listed] + more
    return {uri: plain(await session.read_resource(uri))["contents"] for uri in uris}


async def main():
    work = json.load(sys.stdin)
    server = StdioServerParameters(command=work["command"], args=["mcp"], cwd=work["folder"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = plain(await session.initialize())
        tools = plain(await session.list_tools())["tools"]
        results = await call_all(session, work["calls"])
        templates = plain(await session.list_resource_templates())["resourceTemplates"]
        prompts = plain(await session.list_prompts())["prompts"]
        given = {}
        for prompt in prompts:
            arguments = {argument["name"]: "Live chat" for argument in prompt["arguments"] or []}
            given[prompt["name"]] = plain(await session.get_prompt(prompt["name"], arguments))
        said = {
            "hello": hello,
            "tools": tools,
            "results": results,
            "resources": await read_all(session, work["uris"]),
            "templates": templates,
            "prompts": given,
        }
    print(json.dumps(said))


asyncio.run(main())
