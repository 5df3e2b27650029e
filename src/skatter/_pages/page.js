// What all pages can do beyond being read: light or dark, and where in the contents one is.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  // Light or dark: as the system says, until the button is pressed.
  const theme = document.querySelector(".theme");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
  const nameTheme = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Switch to ${theme.textContent.toLowerCase()} colours`);
  };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
    root.dispatchEvent(new Event("themechange"));
  });
  systemDark.addEventListener("change", nameTheme);
  nameTheme();

  // Contents: the part that is being read.
  const anchors = [...document.querySelectorAll(".contents a")];
  const links = new Map(anchors.map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((each) => each.isIntersecting)) {
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const id of links.keys()) seen.observe(document.getElementById(id));
})();
