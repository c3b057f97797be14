"""Calls with the client that openapi-python-client has generated: python client.py URL JWT."""

import sys

from generated import AuthenticatedClient, Client
from generated.api.jobs import show_job, submit_jobs
from generated.api.progress_bars import create_progress_bar, update_progress_bar
from generated.api.queues import list_queues, set_limits, show_queue
from generated.api.users import create_token, rename_token
from generated.models import (
    CreateBar, CreateToken, CreatedToken, Job, Limits, NewJob, Problem, ProgressBar, Queues, Stats,
    SubmittedMany, SubmittedOne, TokenName, UpdateBar, UpdatedBar,
)

url, jwt = sys.argv[1:]
client = Client(base_url=url)
user = AuthenticatedClient(base_url=url, token=jwt)


def expect(kind, value):
    assert isinstance(value, kind), f"{kind.__name__} and not {value!r}"
    return value


one = expect(SubmittedOne, submit_jobs.sync("q", client=client, body=NewJob(data=[1])))
many = expect(SubmittedMany, submit_jobs.sync("q", client=client, body=[NewJob(data=[2]), NewJob(data=[3])]))
assert len(many.jobs) == 2 and many.jobs[0].created, many
assert expect(Job, show_job.sync(one.jid, client=client)).queue == "q"
assert expect(Problem, show_job.sync("nothing", client=client)).status == 404
assert expect(Stats, show_queue.sync("q", client=client)).queue == "q"
assert len(expect(Queues, list_queues.sync(client=client)).queues) == 1
assert expect(Limits, set_limits.sync("q", client=client, body=Limits(concurrency=3))).concurrency == 3

token = expect(CreatedToken, create_token.sync(client=user, body=CreateToken(name="laptop")))
assert expect(TokenName, rename_token.sync(token.uid, client=user, body=TokenName(name="x"))).name == "x"
assert expect(ProgressBar, create_progress_bar.sync(client=user, body=CreateBar(name="import"))).name == "import"
bar = update_progress_bar.sync(client=user, name="import", body=UpdateBar(sampling_max_count=50))
assert expect(UpdatedBar, bar).sampling_max_count == 50
print("done")
