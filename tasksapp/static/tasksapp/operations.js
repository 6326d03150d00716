// Says when an operation will finish at the pace that is typed. The server says it for the pace of a page that is loaded.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("delayhub-start");
  const line = document.getElementById("delayhub-finish");
  if (!form || !line) return;
  const { delayhubPlanned, rateText, atOnceText, zone, begins } = form.dataset;
  const planned = Number(delayhubPlanned);
  const typed = (name) => Number(form.elements[name].value);

  const shownTime = (ms) => {
    const far = Math.abs(ms - Date.now()) > 43200000;
    const parts = { timeZone: zone, hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
    if (far) Object.assign(parts, { year: "numeric", month: "2-digit", day: "2-digit" });
    // Swedes write dates as 2026-11-22.
    return new Intl.DateTimeFormat("sv-SE", parts).format(new Date(ms));
  };
  const shownRate = (rate) => new Intl.NumberFormat("en", rate < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 }).format(rate);
  const words = () => {
    const start = begins ? Number(begins) : Date.now();
    const pace = form.elements.pace.value;
    if (pace === "at_once") return atOnceText.replace("{time}", shownTime(start));
    const rate = pace === "spread" ? planned / (typed("minutes") * 60) : typed("rate");
    const end = start + (planned / rate) * 1000;
    if (!(rate > 0) || rate === Infinity || !(end < 2.5e14)) return "";
    return rateText.replace("{rate}", shownRate(rate)).replace("{time}", shownTime(end));
  };
  form.addEventListener("input", (event) => {
    // Who types a number means the pace that it belongs to.
    const pace = { minutes: "spread", rate: "rate" }[event.target.name];
    if (pace) form.elements.pace.value = pace;
    try { line.textContent = words(); } catch { line.textContent = ""; }
  });
});
