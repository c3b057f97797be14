"""The cases of clients/conformance, on every store."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import threading
from collections.abc import Callable
from typing import Any

import pytest
from conftest import until

import keyrack

CASES = json.loads((pathlib.Path(__file__).parents[2] / "conformance/cases.json").read_text())

#: Our names of options that have another word in a stored job, and how times are told.
NAMES = {
    "jid": "id",
    "retryDelay": "retry_delay",
    "failedTtl": "failed_ttl",
    "retryDelayMax": "retry_delay_max",
    "retryJitter": "retry_jitter",
    "startWithin": "start_within",
    "progressiveDelay": "progressive",
    "dependencies": "after",
    "dependenciesOnTags": "after_tags",
    "preferredHostname": "host",
}
TIMES = {"delay", "retryDelay", "retryDelayMax", "timeout", "startWithin", "ttl", "failedTtl"}



def unique(words: dict[str, Any]) -> keyrack.Unique:
    """What a case says about equal submissions, in our words."""
    ours = {"for": "for_", "debounceMax": "debounce_max"}
    times = {"for", "debounce", "debounceMax", "throttle"}
    values = {
        ours.get(word, word): value / 1000 if word in times else value for word, value in words.items()
    }
    return keyrack.Unique(**values)


class Runner:
    """Runs the steps of one case."""

    def __init__(self, app: keyrack.App) -> None:
        self.app = app
        self.ids: dict[str, str] = {}
        self.started: list[str] = []
        self.progress: dict[str, list[Any]] = {}
        self.submitting = self.task(app)

    def task(self, app: keyrack.App, **settings: Any) -> keyrack.PlainTask[[dict[str, Any]], Any]:
        @app.task(queue="cases", **settings)
        def handle(instruction: dict[str, Any]) -> Any:
            return self.handle(instruction, keyrack.current_job())

        return handle

    def run(self, step: dict[str, Any]) -> None:
        verbs: dict[str, Callable[[dict[str, Any]], None]] = {
            "submit": self.submit,
            "submitMany": self.submit_many,
            "work": self.work,
            "expect": self.expect,
            "order": self.order,
            "cancel": self.cancel,
            "retry": lambda step: self.job(step["retry"]).retry(),
            "wait": lambda step: self.job(step["wait"]).wait(step["timeout"] / 1000),
            "limits": self.limits,
            "take": self.take,
            "logs": self.compare_logs,
            "progress": self.compare_progress,
        }
        (act,) = (verb for name, verb in verbs.items() if name in step)
        if "error" not in step:
            return act(step)
        with pytest.raises(keyrack.Error) as raised:
            act(step)
        assert raised.value.error_class == step["error"], raised.value
        assert step.get("message", "") in str(raised.value)

    def id(self, name: str) -> str:
        name = name.removeprefix("$")
        return self.ids.get(name, name)

    def job(self, name: str) -> keyrack.Handle[Any]:
        return self.app.job(self.id(name))

    def submit(self, step: dict[str, Any]) -> None:
        options = {}
        for word, value in step["submit"].get("options", {}).items():
            if word == "unique":
                value = unique(value)
            elif word in TIMES:
                value = value / 1000
            elif isinstance(value, list):
                value = [self.id(item) if item.startswith("$") else item for item in value]
            elif isinstance(value, str):
                value = self.id(value) if value.startswith("$") else value
            options[NAMES.get(word, word)] = value
        handle = self.submitting.options(**options).submit(*step["submit"]["data"])
        if "same" in step:
            assert handle.id == self.id(step["same"])
        if "outcome" in step:
            assert handle.outcome == step["outcome"]
        self.ids[step["as"]] = handle.id

    def submit_many(self, step: dict[str, Any]) -> None:
        handles = self.submitting.submit_many([tuple(data) for data in step["submitMany"]])
        self.ids.update((name, handle.id) for name, handle in zip(step["as"], handles))

    def work(self, step: dict[str, Any]) -> None:
        asked = step["work"]
        del self.app.tasks["cases"]
        self.task(self.app, skip_duplicates=asked.get("skipDuplicates", False))
        with self.app.events("cases") as events:
            listening = threading.Thread(target=self.listen, args=(events,))
            listening.start()
            with self.app.worker(concurrency=asked.get("concurrency", 100)):
                left = {self.id(name) for name in asked.get("except", [])}
                handles = [self.app.job(id) for id in self.ids.values() if id not in left]
                ends = self.app.gather(handles, timeout=20, return_exceptions=True)
            assert not [end for end in ends if isinstance(end, keyrack.WaitTimeout)]
        listening.join()

    def listen(self, events: keyrack.EventStream) -> None:
        for event in events:
            if event.type == "progress":
                self.progress.setdefault(event.id, []).append(event.progress)

    def expect(self, step: dict[str, Any]) -> None:
        info = self.job(step["expect"]).info()
        for name, wanted in step.items():
            if name in ("expect", "error"):
                continue
            if name == "reason":
                assert wanted in (info.reason or "")
            elif name == "reported":
                reported = dataclasses.asdict(info.progress) if info.progress else None
                assert wanted == (reported and {key: reported[key] for key in wanted})
            elif name == "parent":
                assert info.parent == self.id(wanted)
            elif name == "duplicate":
                assert info.duplicate_of == self.id(wanted)
            else:
                assert getattr(info, name) == wanted, name

    def order(self, step: dict[str, Any]) -> None:
        assert self.started == [self.id(name) for name in step["order"]]

    def cancel(self, step: dict[str, Any]) -> None:
        canceled = self.job(step["cancel"]).cancel()
        assert canceled == [self.id(name) for name in step["canceled"]]

    def limits(self, step: dict[str, Any]) -> None:
        self.app.set_queue_limits("cases", **step["limits"])
        stored = self.app.queue_limits("cases")
        assert {name: stored.get(name) for name in step["limits"]} == step["limits"]

    def take(self, step: dict[str, Any]) -> None:
        asked = step["take"]
        verdict = self.app.limits.take(
            asked["name"], asked["subject"], max=asked["max"], period=asked["period"] / 1000
        )
        assert (verdict.allowed, verdict.remaining) == (step["allowed"], step["remaining"])

    def compare_logs(self, step: dict[str, Any]) -> None:
        lines = self.job(step["logs"]).logs()
        assert [[line.level, line.text, line.attempt] for line in lines] == step["lines"]

    def compare_progress(self, step: dict[str, Any]) -> None:
        id = self.id(step["progress"])
        until(lambda: len(self.progress.get(id, [])) == len(step["values"]))
        assert self.progress[id] == step["values"]

    def handle(self, instruction: dict[str, Any], job: keyrack.Job) -> Any:
        if job.attempt == 1:
            self.started.append(job.id)
        match instruction["do"]:
            case "return":
                return instruction["value"]
            case "log":
                for level, text in instruction["lines"]:
                    job.log(text, level)
                if job.attempt <= instruction["times"]:
                    raise RuntimeError(instruction["message"])
                return job.attempt
            case "fail" if job.attempt <= instruction["times"]:
                raise RuntimeError(instruction["message"])
            case "fatal":
                raise keyrack.Fatal(instruction["message"])
            case "retry" if job.attempt == 1:
                raise keyrack.Retry(in_=instruction["delay"] / 1000)
            case "snooze" if job.attempt == 1:
                raise keyrack.Snooze(in_=instruction["delay"] / 1000)
            case "fail" | "retry" | "snooze":
                return job.attempt
            case "cancel":
                raise keyrack.Cancel
            case "report":
                messages = instruction.get("messages", [None] * len(instruction["values"]))
                for value, message in zip(instruction["values"], messages):
                    job.report(value, message)
                return None
        raise keyrack.Fatal(f"no such instruction: {instruction}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(app: keyrack.App, case: dict[str, Any]) -> None:
    runner = Runner(app)
    for step in case["steps"]:
        runner.run(step)
