"""What a model is shown: every tool call is answered, the file stays as it is."""

from runtime.transcript.model_view import MISSING_RESULT_TEXT, missing_results, model_messages
from runtime.transcript.store import TranscriptStore
from tests.runtime.transcript.lines import session


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
        assert missing_results(store.branch().of_type("message").lines()) == ["one"]
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


def missing(store: TranscriptStore) -> list[str]:
    return missing_results(store.branch().of_type("message").lines())


def test_calls_and_results_of_any_shape_are_matched_and_never_raise():
    """Other writers escape letters, leave ids out, or use values that are no text."""
    store = TranscriptStore.in_memory()
    odd = [{}, [1], 5, None]
    blocks = [{"type": "toolCall", "id": value} for value in odd]
    store.append_message({"role": "assistant", "content": [*blocks, "text", {"type": ["toolCall"]}, call("plain")]})
    store.append_message({"role": "assistant", "content": "toolCall"})
    store.append_message({"role": "toolResult", "toolCallId": [1], "content": []})
    store.append_message({"role": "toolResult", "toolCallId": 5, "content": 7})
    assert missing(store) == ["{}", "None", "plain"]
    answers = [message for message in model_messages(store.branch()) if message.get("isError")]
    assert [answer["toolCallId"] for answer in answers] == [{}, None, "plain"]


def test_a_word_with_escaped_letters_is_the_same_word(tmp_path):
    text = (
        '{"type":"message","id":"a","parentId":null,"message":{"role":"assist\\u0061nt","content":'
        '[{"type":"tool\\u0043all","id":"x","name":"bash"},{"type":"toolCall","id":"y"}]}}\n'
        '{"type":"message","id":"b","parentId":"a","message":{"role":"tool\\u0052esult","toolCallId":"y"}}\n'
    )
    with TranscriptStore.open(session(tmp_path / "s.jsonl", text.encode()), read_only=True) as store:
        assert missing(store) == ["x"]
