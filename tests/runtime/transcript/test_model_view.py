"""What a model is shown: every tool call is answered, the file stays as it is."""

from runtime.transcript.model_view import MISSING_RESULT_TEXT, missing_results, model_messages
from runtime.transcript.store import TranscriptStore


def call(call_id: str) -> dict:
    return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {}}


def result(call_id: str) -> dict:
    return {"role": "toolResult", "toolCallId": call_id, "toolName": "bash", "content": [], "isError": False}


def test_a_crash_between_two_parallel_results_leaves_a_usable_history(tmp_path):
    path = tmp_path / "s.jsonl"
    with TranscriptStore.create(path) as store:
        store.append_message({"role": "user", "content": "go"})
        store.append_message({"role": "assistant", "content": [call("one"), call("two")], "timestamp": 7})
        store.append_message(result("two"))
        store.append_custom("between")
        store.append_message({"role": "user", "content": "next"})
        before = path.read_bytes()
        messages = model_messages(store.branch())
        assert missing_results(store.branch()) == ["one"]
    assert [message["role"] for message in messages] == ["user", "assistant", "toolResult", "toolResult", "user"]
    synthetic = messages[3]
    assert synthetic["toolCallId"] == "one"
    assert synthetic["isError"] is True
    assert synthetic["content"] == [{"type": "text", "text": MISSING_RESULT_TEXT}]
    assert path.read_bytes() == before


def test_a_call_at_the_very_end_is_answered_too():
    store = TranscriptStore.in_memory()
    store.append_message({"role": "assistant", "content": [call("x")]})
    assert [message["role"] for message in model_messages(store.branch())] == ["assistant", "toolResult"]


def test_an_answered_history_is_shown_as_it_is():
    store = TranscriptStore.in_memory()
    for message in (
        {"role": "assistant", "content": [call("x")]},
        result("x"),
        {"role": "assistant", "content": "done"},
    ):
        store.append_message(message)
    assert model_messages(store.branch()) == [entry.message for entry in store.branch()]
