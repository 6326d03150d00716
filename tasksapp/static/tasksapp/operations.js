// Says when an operation will finish at the pace that is typed. The server says it for the pace of a page that is loaded.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("delayhub-start");
  const line = document.getElementById("delayhub-finish");
  if (!form || !line) return;
  const { delayhubPlanned, rateText, atOnceText, zone, language } = form.dataset;
  const planned = Number(delayhubPlanned);
  const number = (name) => Number(form.elements[name].value);

  const rate = () => {
    switch (form.elements.pace.value) {
      case "spread": return planned / (number("minutes") * 60);
      case "rate": return number("rate");
      default: return Infinity;
    }
  };
  const show = () => {
    const perSecond = rate();
    if (perSecond === Infinity && form.elements.pace.value === "at_once") { line.textContent = atOnceText; return; }
    const ms = (planned / perSecond) * 1000;
    if (!(perSecond > 0) || !(ms < 3.2e12) || perSecond === Infinity) { line.textContent = ""; return; }
    const end = new Date(Date.now() + ms);
    const parts = { timeZone: zone, hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
    if (ms > 43200000) Object.assign(parts, { year: "numeric", month: "2-digit", day: "2-digit" });
    let time;
    try { time = new Intl.DateTimeFormat("sv-SE", parts).format(end); } catch { return; }
    const shown = new Intl.NumberFormat("en", { maximumSignificantDigits: perSecond < 100 ? 3 : 15, maximumFractionDigits: 3 });
    line.textContent = rateText.replace("{rate}", shown.format(perSecond < 100 ? perSecond : Math.round(perSecond))).replace("{time}", time);
  };
  form.addEventListener("input", (event) => {
    // Who types a number means the pace that it belongs to.
    const of = { minutes: "spread", rate: "rate" }[event.target.name];
    if (of) form.elements.pace.value = of;
    show();
  });
});
