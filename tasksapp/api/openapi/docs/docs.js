"use strict";
// Loads the OpenAPI document beside this page and shows it. Where it is refused, asks for an API key, which stays in
// this page's memory.

const form = document.getElementById("access");
const input = document.getElementById("key");
const why = document.getElementById("why");

async function show(key) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const answer = await fetch("../schema", { headers, credentials: "same-origin" });
  if (!answer.ok) {
    why.textContent = await refusal(answer);
    form.hidden = false;
    return;
  }
  form.hidden = true;
  const ui = SwaggerUIBundle({
    spec: await answer.json(),
    dom_id: "#swagger-ui",
    deepLinking: true,
    presets: [SwaggerUIBundle.presets.apis],
    onComplete: () => key && ui.preauthorizeApiKey("apiKey", key),
  });
}

async function refusal(answer) {
  if (answer.status === 401 && !input.value) {
    return "This API is shown to callers with a key, and to people who are logged in to the admin.";
  }
  try {
    return (await answer.json()).detail;
  } catch {
    return `The description of the API could not be loaded (status ${answer.status}).`;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  show(input.value.trim());
});
show("");
