// Jobs: one box chooses all rows of a page; buttons that copy a text. Without this file, both stay hidden.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const every = document.querySelector("[data-delayhub-every]");
  const boxes = [...document.querySelectorAll("input[name=_selected_action]")];
  const label = document.querySelector("[data-delayhub-chosen]");
  const count = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    if (label) label.textContent = chosen ? label.dataset.some.replace("%s", chosen) : label.dataset.none;
    if (every) { every.checked = chosen > 0 && chosen === boxes.length; every.indeterminate = chosen > 0 && chosen < boxes.length; }
    document.querySelectorAll("button[name=action]").forEach((button) => { button.disabled = chosen === 0; });
  };
  if (boxes.length) {
    if (every) {
      every.hidden = false;
      every.addEventListener("change", () => { boxes.forEach((box) => { box.checked = every.checked; }); count(); });
    }
    boxes.forEach((box) => box.addEventListener("change", count));
    addEventListener("pageshow", count);
    count();
  }

  document.querySelectorAll("[data-delayhub-copy]").forEach((button) => {
    const words = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.delayhubCopy).textContent;
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        // No clipboard on pages that are not served by HTTPS: the text is selected, for Ctrl+C.
        getSelection().selectAllChildren(document.getElementById(button.dataset.delayhubCopy));
        button.textContent = button.dataset.selected;
        return;
      }
      button.textContent = button.dataset.copied;
      setTimeout(() => { button.textContent = words; }, 2000);
    });
  });
});
