// Between the page and the network: notes every call, and does to some of them what bad networks do.

if (window.meddle) return;
const real = window.fetch;
const rules = [];
window.meddle = { calls: [], rules, release: null };

window.fetch = async (path, options = {}) => {
  const method = options.method ?? "GET";
  window.meddle.calls.push(`${method} ${path}`);
  const rule = rules.find((one) => one.times > 0 && one.method === method && new RegExp(one.path).test(path));
  if (!rule || rule.after-- > 0) return real(path, options);
  rule.times -= 1;
  switch (rule.what) {
    case "lose":
      await real(path, options);
      throw new TypeError("the answer was lost");
    case "break off": {
      const answer = await real(path, options);
      return new Response((await answer.text()).slice(0, 5), { status: answer.status });
    }
    case "hold": {
      const answer = await real(path, options);
      await new Promise((resolve) => { window.meddle.release = resolve; });
      return answer;
    }
    case "stall":
      return new Promise((_, reject) => { options.signal.addEventListener("abort", () => reject(new DOMException("", "AbortError"))); });
    default:
      return new Response(JSON.stringify({ title: "Told by the test" }), { status: rule.what });
  }
};
