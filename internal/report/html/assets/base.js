'use strict';

// What the scripts of all sections share.
const raglab = {
  // data returns what the section of an id was given.
  data(id) {
    return JSON.parse(document.getElementById('data-' + id).textContent);
  },

  // later returns a promise of what stands behind the scripts for a section, which may
  // still be on its way.
  async later(id) {
    if (document.readyState === 'loading') {
      await new Promise((done) => document.addEventListener('DOMContentLoaded', done, { once: true }));
    }
    return JSON.parse(document.getElementById('later-' + id).textContent);
  },

  // el makes an element. Attributes are set as such, children are elements or
  // texts; no text is ever read as markup.
  el(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === true) made.setAttribute(key, '');
      else if (value !== false && value != null) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  },

  // say tells screen readers what changed.
  say(text) {
    document.getElementById('said').textContent = text;
  },
};
