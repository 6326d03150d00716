// Keys of the keyboard: "/" to the search box, "j" and "k" through the rows, "p" pauses the refresh, "?" shows them.
"use strict";
(() => {
  const OFF = "delayhub.keys";
  const ROWS = "[data-delayhub-rows] tr, #result_list tbody tr";
  const isOff = () => { try { return localStorage.getItem(OFF) === "off"; } catch { return false; } };
  const remember = (on) => { try { localStorage.setItem(OFF, on ? "on" : "off"); } catch { /* private window */ } };
  const isTyping = (element) => element.closest("input:not([type=checkbox]), select, textarea, [contenteditable]") !== null;

  const move = (step) => {
    const links = [...document.querySelectorAll(ROWS)].map((row) => row.querySelector("a[href]")).filter(Boolean);
    const row = document.activeElement.closest("tr");
    const here = links.findIndex((link) => row !== null && row.contains(link));
    const next = links[here < 0 && step < 0 ? links.length - 1 : here + step];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  };
  const help = () => document.querySelector("#delayhub-keys");
  const acts = {
    "/": () => document.querySelector("[data-delayhub-search], #searchbar")?.focus(),
    "j": () => move(1),
    "k": () => move(-1),
    "p": () => document.querySelector("[data-delayhub-pause]")?.click(),
    "?": () => help()?.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || help()?.open) return;
    if (isOff() && event.key !== "?") return;
    event.preventDefault();
    act();
  });
  document.addEventListener("DOMContentLoaded", () => {
    const box = document.querySelector("[data-delayhub-keys]");
    if (!box) return;
    box.checked = !isOff();
    box.addEventListener("change", () => remember(box.checked));
    document.querySelectorAll("[data-delayhub-show-keys]").forEach((button) => {
      button.hidden = false;
      button.addEventListener("click", acts["?"]);
    });
  });
})();
