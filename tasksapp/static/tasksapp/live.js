// Refreshes what {% delayhub_live %} made: htmx asks each time this file says so, so not while the tab is hidden or it is
// paused. The page's own htmx is used where it has one.
"use strict";
(() => {
  const script = document.currentScript;
  const paused = new Set();

  const barOf = (part) => part.closest(".delayhub-live").querySelector(".delayhub-live-bar");
  const show = (part, selector, visible) => { barOf(part).querySelector(selector).hidden = !visible; };
  const isLive = (event) => event.target.hasAttribute && event.target.hasAttribute("data-delayhub-live");

  // The server's word that this is the part and as of when: the login page or an error page does not have it.
  const asOf = (event) => {
    const { ctx, xhr } = event.detail;
    const status = xhr ? xhr.status : ctx.response.status;
    return status === 200 && (xhr ? xhr.getResponseHeader("Delayhub-As-Of") : ctx.response.headers.get("Delayhub-As-Of"));
  };
  const accept = (event) => {
    if (!isLive(event)) return;
    const time = asOf(event);
    show(event.target, "[data-delayhub-stopped]", !time);
    if (time) barOf(event.target).querySelector("[data-delayhub-as-of]").textContent = time;
    else event.preventDefault();
  };
  const fail = (event) => { if (isLive(event)) show(event.target, "[data-delayhub-stopped]", true); };

  const follow = (part) => {
    const button = barOf(part).querySelector("[data-delayhub-pause]");
    const words = [button.textContent, button.dataset.resume];
    const seconds = Number(part.dataset.delayhubLive);
    let last = Date.now();
    const refresh = () => {
      if (document.hidden || paused.has(part) || part.classList.contains("htmx-request")) return;
      last = Date.now();
      part.dispatchEvent(new CustomEvent("delayhub:refresh"));
    };
    button.hidden = false;
    button.addEventListener("click", () => {
      if (paused.delete(part)) refresh(); else paused.add(part);
      button.textContent = words[paused.has(part) ? 1 : 0];
    });
    setInterval(refresh, seconds * 1000);
    document.addEventListener("visibilitychange", () => { if (Date.now() - last > seconds * 1000) refresh(); });
  };

  const begin = () => {
    const parts = document.querySelectorAll("[data-delayhub-live]");
    if (!parts.length) return;
    if (!window.htmx) {
      const htmx = document.createElement("script");
      htmx.src = script.dataset.htmx;
      document.head.append(htmx);
    }
    // htmx 4 and htmx 2 have different names for these.
    for (const name of ["htmx:before:response", "htmx:beforeSwap"]) document.addEventListener(name, accept);
    for (const name of ["htmx:error", "htmx:sendError", "htmx:responseError"]) document.addEventListener(name, fail);
    parts.forEach(follow);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin); else begin();
})();
