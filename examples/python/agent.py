"""An agent in Python that runs its own tool: Writ decides whether it may, and keeps the record.

WRIT_SERVER and WRIT_TOKEN name the server and an API key with the scopes read and submit. Only the standard library is used.
"""

import json
import os
import urllib.request

SERVER = os.environ["WRIT_SERVER"]
TOKEN = os.environ["WRIT_TOKEN"]


def post(path, body):
    """Sends a request, and returns the answer."""
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    request = urllib.request.Request(SERVER + path, json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(request) as response:
        text = response.read()
    return json.loads(text) if text else None


def count_words(text):
    """The tool of this agent. The server knows its name, its schema and its effect, and never runs it."""
    return {"words": len(text.split())}


session = post("/v1/sessions", {"session": "python-1"})
calls = f"/v1/sessions/{session['session_id']}/calls"

begun = post(f"{calls}/call_1/begin", {"tool": "text.count", "input": {"text": "one two three"}})
if begun.get("go"):
    # The start is on disk. The input may have been changed by an approver.
    done = post("/v1/calls/end", {"token": begun["token"], "output": count_words(begun["input"]["text"])})
else:
    # The call was made before, or is held or refused.
    done = begun
print(done["status"], json.dumps(done.get("output")))

closed = post(f"/v1/sessions/{session['session_id']}/close", {})
print("session", closed["status"])
