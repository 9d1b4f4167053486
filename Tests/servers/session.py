"""A session as its client sees it, without a delegate: tasks, and what it remembers."""

import json


class Session:
    """A new session of a gateway, or one by its path."""

    def __init__(self, gateway, type="default", path=None, delegate=None, **configuration):
        self.gateway = gateway
        if path is None:
            members = dict(type=type, configuration=configuration, delegate=delegate)
            path = gateway.post("/v1/sessions", 201, **members).headers["Location"]
        self.path = path

    # Tasks

    def spec(self, url, type="data", method="GET", headers=None, policy=None, **members):
        """What creates a task."""
        request = {"url": url, "method": method, "headers": headers or {}}
        if policy:
            request["cachePolicy"] = policy
        return {"type": type, "request": request, "resume": True} | members

    def start(self, url, **members):
        """Starts a task; its id."""
        answer = self.gateway.post(f"{self.path}/tasks", 201, **self.spec(url, **members))
        return answer.json()["id"]

    def start_all(self, specs):
        """Starts many tasks by one array; their ids."""
        answer = self.gateway.client.post(f"{self.path}/tasks", json=specs)
        results = answer.json()["results"]
        assert {each["status"] for each in results} == {201}, answer.text
        return [each["task"]["id"] for each in results]

    def finish(self, task):
        """The task once it has completed."""
        answer = self.gateway.client.get(f"/v1/tasks/{task}", headers={"Prefer": "wait=20"})
        return Outcome(self.gateway, answer.json())

    def fetch(self, url, **members):
        """Starts a task and waits for its end."""
        return self.finish(self.start(url, **members))

    def answer(self, url, **members):
        """The body as the answer to the task's creation."""
        path = f"{self.path}/tasks?answer=content"
        return self.gateway.client.post(path, json=self.spec(url, **members))

    # What it remembers

    def get(self, what):
        return self.gateway.get(f"{self.path}/{what}")

    def cookies(self, query=""):
        return self.get("cookies" + query)["cookies"]

    def cookie_text(self):
        """Names and values as a `Cookie` field has them."""
        return "; ".join(f"{each['name']}={each['value']}" for each in self.cookies())

    def set_cookie(self, name, value="1", domain="127.0.0.1", status=201, **members):
        members |= dict(name=name, value=value, domain=domain)
        return self.gateway.post(f"{self.path}/cookies", status, **members)

    def netscape(self):
        """The jar as a file."""
        answer = self.gateway.client.get(f"{self.path}/cookies", headers={"Accept": "text/plain"})
        assert answer.status_code == 200, answer.text
        assert answer.headers["Content-Type"].startswith("text/plain")
        return answer.text

    def import_cookies(self, text):
        """Puts a file into the jar; what became of it."""
        headers = {"Content-Type": "text/plain"}
        path = f"{self.path}/cookies"
        answer = self.gateway.client.post(path, content=text.encode(), headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def credentials(self):
        return self.get("credentials")["credentials"]

    def put(self, space, status=204, **members):
        """Puts a credential into the storage."""
        body = {"protectionSpace": space} | members
        answer = self.gateway.client.put(f"{self.path}/credentials", json=body)
        assert answer.status_code == status, f"{answer.status_code} {answer.text}"
        return answer

    def cache(self, url=None):
        query = {"url": url} if url else {}
        answer = self.gateway.client.get(f"{self.path}/cache", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def tell(self, what, status=204):
        """Posts nothing to a verb of the session."""
        answer = self.gateway.client.post(f"{self.path}/{what}")
        assert answer.status_code == status, f"{what}: {answer.status_code} {answer.text}"

    def forget(self, what):
        """Deletes cookies, credentials or the cache."""
        answer = self.gateway.client.delete(f"{self.path}/{what}")
        assert answer.status_code == 204, f"{what}: {answer.status_code} {answer.text}"

    def invalidate(self):
        self.gateway.post(f"{self.path}/invalidate", 202, mode="cancelTasks")


class Outcome:
    """A task that has completed, and what it brought."""

    def __init__(self, gateway, task):
        self._gateway = gateway
        self.task = task
        self.id = task["id"]
        assert task["state"] == "completed", task

    def __repr__(self):
        return json.dumps(self.task)

    @property
    def error(self):
        """The code of the task's error; None for none."""
        return self.task["error"] and self.task["error"]["code"]

    @property
    def status(self):
        return self.task["response"] and self.task["response"]["status"]

    @property
    def body(self):
        answer = self._gateway.client.get(f"/v1/tasks/{self.id}/content")
        assert answer.status_code == 200, answer.text
        return answer.content

    @property
    def is_hit(self):
        """Whether what was delivered came from the cache."""
        kinds = [each["resourceFetchType"] for each in self.task["metrics"]["transactions"]]
        assert set(kinds) <= {"networkLoad", "localCache"}
        return kinds[-1] == "localCache"

    def header(self, name):
        """A field of the response, its lines joined; None without one."""
        fields = self.task["response"]["headers"]
        lines = [value for field, value in fields if field.lower() == name.lower()]
        return ", ".join(lines) if lines else None
