// Returns a list of sentences, each with the rule and WCAG's criterion before it; an empty
// one says that nothing was found. A dash stands where the rule is good practice and no criterion.
(() => {
  const found = [];
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const seen = (e) => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false });
  const where = (e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (typeof e.className === 'string' && e.className ? '.' + e.className : '') + ' "' + e.textContent.trim().slice(0, 30) + '"';
  const html = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const words = (e, attribute) => (e.getAttribute(attribute) || '').split(/\s+/).filter(Boolean);
  const interactive = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]:not([tabindex="-1"])';

  // nameOf is what a reader is told that an element is called.
  function nameOf(e) {
    const by = words(e, 'aria-labelledby').map((id) => byId(id)?.textContent.trim() ?? '').join(' ').trim();
    if (by) return by;
    if ((e.getAttribute('aria-label') || '').trim()) return e.getAttribute('aria-label').trim();
    if (e.labels) {
      for (const label of e.labels) {
        const copy = label.cloneNode(true);
        for (const control of all('select, input, textarea', copy)) control.remove();
        if (copy.textContent.trim()) return copy.textContent.trim();
      }
    }
    if (e instanceof SVGElement) return e.querySelector(':scope > title')?.textContent.trim() ?? '';
    if (e.tagName === 'IMG') return e.alt;
    if (e.tagName === 'TABLE') return e.caption?.textContent.trim() ?? '';
    return ['BUTTON', 'A', 'SUMMARY', 'OUTPUT'].includes(e.tagName) ? e.textContent.trim() : '';
  }

  // What ARIA has, as far as pages of reports may use it: the roles, and for each attribute what it may
  // say and which roles may have it.
  const roles = 'alert article banner cell columnheader complementary contentinfo form group heading img link list listitem main navigation note region row rowheader search status switch table'.split(' ');
  const yes = /^(true|false)$/;
  const some = /\S/;
  const attributes = {
    'aria-label': some, 'aria-labelledby': some, 'aria-describedby': some, 'aria-controls': some, 'aria-valuetext': some,
    'aria-hidden': yes, 'aria-atomic': yes, 'aria-busy': yes, 'aria-disabled': yes, 'aria-expanded': yes, 'aria-pressed': yes,
    'aria-live': /^(off|polite|assertive)$/, 'aria-sort': /^(none|ascending|descending|other)$/, 'aria-current': /^(true|false|page|step|location|date|time)$/,
  };
  const carriers = { 'aria-sort': 'th, [role=columnheader], [role=rowheader]', 'aria-valuetext': 'input[type=range]', 'aria-expanded': 'button, a[href], summary', 'aria-pressed': 'button' };
  // These have no role by themselves, and nobody is told their name.
  const nameless = 'div, span, p, b, i, em, strong, small, code, mark, kbd, q, td, dt, dd, caption, figcaption, label, legend';

  // Colours, by WCAG's formulas.
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  canvas.canvas.width = canvas.canvas.height = 1;
  const known = new Map();
  function rgba(colour) {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  }
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  function luminance(c) {
    const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function ratio(a, b) {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  }
  const canvasColour = rgba(matchMedia('(prefers-color-scheme: dark)').matches && getComputedStyle(html).colorScheme.includes('dark') ? '#121212' : '#fff');
  function backOf(e) {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), canvasColour);
  }
  const opacityOf = (e) => e ? Number(getComputedStyle(e).opacity) * opacityOf(e.parentElement) : 1;
  const faded = (colour, e) => [...colour.slice(0, 3), colour[3] * opacityOf(e)];
  const page = backOf(document.body);
  const poor = new Set();
  // once calls say for the first of those that look the same.
  function once(key, e, say) {
    if (poor.has(key)) return;
    poor.add(key);
    say(e);
  }
  const needed = (style) => {
    const size = Number.parseFloat(style.fontSize);
    return size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
  };
  // disabled controls, and labels of such alone, need no contrast.
  const disabled = (e) => e.closest(':disabled, [aria-disabled=true]') !== null || e.closest('label')?.control?.disabled === true;

  // of calls test for every element that a selector matches, and says those it returns true or words for.
  const of = (selector, test) => (say) => {
    for (const e of all(selector)) {
      const fault = test(e);
      if (fault) say(e, fault === true ? '' : fault);
    }
  };
  const ofSeen = (selector, test) => of(selector, (e) => seen(e) && test(e));

  // Every rule: its name, the criterion, what is wrong, and how it is found. say takes
  // an element, and words about it.
  const rules = [
    // What the document as a whole must have.
    ['html-lang', '3.1.1', 'the document has no language', (say) => /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(html.lang) || say(html)],
    ['valid-lang', '3.1.2', 'no language', of('body [lang]', (e) => !/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(e.lang))],
    ['document-title', '2.4.2', 'the document has no title', (say) => document.title.trim() || say(html)],
    ['one-main', '2.4.1', 'not one main landmark', (say) => all('main, [role=main]').filter(seen).length === 1 || say(html)],
    ['one-h1', '-', 'not one h1', (say) => all('h1').filter(seen).length === 1 || say(html)],
    ['bypass', '2.4.1', 'the first link does not skip to the main part', (say) => {
      const first = document.querySelector(interactive);
      const to = first?.getAttribute('href')?.startsWith('#') ? byId(first.getAttribute('href').slice(1)) : null;
      if (!to?.matches('main')) say(first ?? html);
    }],
    ['link-target', '2.4.1', 'the link leads nowhere', of('a[href^="#"]', (e) => !byId(decodeURIComponent(e.getAttribute('href').slice(1))))],
    ['meta-viewport', '1.4.4', 'zooming is limited', of('meta[name=viewport]', (e) => /user-scalable\s*=\s*(no|0)|maximum-scale/.test(e.content))],
    ['meta-refresh', '2.2.1', 'the page reloads itself', of('meta[http-equiv=refresh]', () => true)],
    ['moving', '2.2.2', 'moves by itself', (say) => document.getAnimations().forEach((a) => say(a.effect?.target ?? html))],
    ['embedded', '1.2.1', 'media, frames and old elements have no place here', of('audio, video, iframe, frame, object, embed, marquee, blink, canvas, area, map, applet', () => true)],
    ['landmark-name', '-', 'landmarks of one sort have the same name or none', (say) => {
      for (const kind of ['nav', 'aside', 'form[aria-label], form[aria-labelledby]', 'section[aria-label], section[aria-labelledby], [role=region]']) {
        const names = new Set();
        for (const e of all(kind).filter(seen)) {
          if (nameOf(e) === '' || names.has(nameOf(e))) say(e);
          names.add(nameOf(e));
        }
      }
    }],
    ['region', '-', 'text outside of all landmarks', ofSeen('body > *', (e) => e.innerText.trim() !== '' && !e.matches('header, nav, main, footer, aside, a[href^="#"], [role=status], noscript, script, style'))],

    // Ids, and what refers to them.
    ['duplicate-id', '4.1.2', 'id twice', (say) => {
      const ids = new Set();
      for (const e of all('[id]')) {
        if (ids.has(e.id)) say(e);
        ids.add(e.id);
      }
    }],
    ['id-reference', '1.3.1', 'names nothing', (say) => {
      for (const name of ['aria-labelledby', 'aria-describedby', 'aria-controls', 'for', 'headers', 'list', 'form']) {
        for (const e of all('[' + name + ']')) for (const id of words(e, name)) if (!byId(id)) say(e, name + ' names nothing, ' + id);
      }
    }],

    // ARIA.
    ['aria-valid-attr', '4.1.2', 'no attribute of ARIA', of('*', (e) => [...e.attributes].filter((a) => a.name.startsWith('aria-') && !(a.name in attributes)).map((a) => a.name).join(' '))],
    ['aria-valid-attr-value', '4.1.2', 'no value of the attribute', of('*', (e) => [...e.attributes].filter((a) => a.name in attributes && !attributes[a.name].test(a.value)).map((a) => a.name + '=' + a.value).join(' '))],
    ['aria-allowed-attr', '4.1.2', 'not for such an element', of('*', (e) => Object.keys(carriers).filter((name) => e.hasAttribute(name) && !e.matches(carriers[name])).join(' '))],
    ['aria-roles', '4.1.2', 'no role', of('[role]', (e) => words(e, 'role').length !== 1 || !roles.includes(e.getAttribute('role')))],
    ['aria-role-kept', '4.1.2', 'the role hides what the element is', of('button[role], a[href][role], input[role], select[role], h1[role], h2[role], h3[role], table[role], tr[role], th[role], td[role], ul[role], ol[role], li[role], main[role], nav[role]', () => true)],
    ['aria-prohibited-attr', '4.1.2', 'a name that nobody is told', of('[aria-label], [aria-labelledby]', (e) => e.matches(nameless) && !e.hasAttribute('role'))],
    ['aria-hidden-focus', '4.1.2', 'hidden, and a keyboard reaches it', of('[aria-hidden=true]', (e) => e === document.body || e.matches(interactive) || all(interactive, e).some(seen))],
    ['live-region', '4.1.3', 'a live region that cannot say anything', of('[role=status], [role=alert], [aria-live]', (e) => !e.checkVisibility() || e.closest('[aria-hidden=true]') !== null || e.getAttribute('aria-live') === 'off')],
    ['live-region-there', '4.1.3', 'nothing on the page tells what changes', (say) => !document.querySelector('form, select, th button') || document.querySelector('[role=status]') || say(html)],

    // Names.
    ['name', '4.1.2', 'no name', of('button, a[href], input:not([type=hidden]), select, textarea, summary, [role=group], [role=region], [role=img], nav, table, fieldset', (e) => nameOf(e) === '' && e.tagName !== 'TABLE' && !(e.tagName === 'FIELDSET' && e.querySelector(':scope > legend')))],
    ['name-has-text', '2.5.3', 'what is seen is not in the name', ofSeen('button[aria-label], a[href][aria-label], summary[aria-label], button[aria-labelledby], a[href][aria-labelledby]', (e) => e.innerText.trim() !== '' && !nameOf(e).toLowerCase().includes(e.innerText.trim().toLowerCase()))],
    ['one-label', '3.3.2', 'more than one label', of('input, select, textarea', (e) => e.labels?.length > 1)],
    ['label-seen', '3.3.2', 'nobody sees what it is', ofSeen('input:not([type=hidden], [type=range], [type=submit], [type=button]), select, textarea', (e) => ![...e.labels].some((label) => seen(label) && label.textContent.trim()))],
    ['autocomplete', '1.3.5', 'no value of autocomplete', of('[autocomplete]', (e) => !/^(on|off)$/.test(e.getAttribute('autocomplete')))],
    ['nested-interactive', '4.1.2', 'controls in a control', of('button, a[href], summary, select', (e) => e.querySelector('a[href], button, input, select:not(:scope), textarea, summary, [tabindex]') !== null)],
    ['link-in-text', '1.4.1', 'a link in a text that is only another colour', ofSeen('p a[href], li a[href]', (e) => e.parentElement.textContent.trim() !== e.textContent.trim() && !getComputedStyle(e).textDecorationLine.includes('underline'))],
    ['image-alt', '1.1.1', 'image without alt', of('img:not([alt]), input[type=image]:not([alt])', () => true)],
    ['svg-alt', '1.1.1', 'drawing without title or description', of('svg', (e) => e.getAttribute('aria-hidden') !== 'true'
      && (e.getAttribute('role') !== 'img' || !e.querySelector(':scope > title')?.textContent.trim() || !e.querySelector(':scope > desc')?.textContent.trim()))],
    ['svg-table', '1.1.1', 'no table tells what the drawing shows', of('figure svg', (e) => e.closest('figure').querySelector('table') === null)],

    // Structure.
    ['heading-order', '1.3.1', 'heading skips a level', (say) => {
      let level = 0;
      for (const e of all('h1, h2, h3, h4, h5, h6').filter(seen)) {
        const next = Number(e.tagName[1]);
        if (next > level + 1) say(e);
        level = next;
      }
    }],
    ['empty-heading', '1.3.1', 'heading without text', ofSeen('h1, h2, h3, h4, h5, h6', (e) => e.textContent.trim() === '')],
    ['list', '1.3.1', 'a list holds what is no item', of('ul, ol', (e) => [...e.children].some((c) => !c.matches('li, script, template')))],
    ['listitem', '1.3.1', 'an item of no list', of('li', (e) => !e.parentElement.matches('ul, ol, menu'))],
    ['definition-list', '1.3.1', 'a list of terms holds something else', of('dl', (e) => [...e.children].some((c) => !c.matches('dt, dd, div, script, template')) || all(':scope > div', e).some((d) => !d.querySelector(':scope > dt') || !d.querySelector(':scope > dd')))],
    ['dlitem', '1.3.1', 'a term of no list', of('dt, dd', (e) => !e.closest('dl'))],
    ['table-caption', '1.3.1', 'table without caption', of('table', (e) => !e.caption || e.caption.textContent.trim() === '')],
    ['th-scope', '1.3.1', 'head without scope', of('th', (e) => !/^(row|col|rowgroup|colgroup)$/.test(e.getAttribute('scope') || ''))],
    ['empty-th', '1.3.1', 'head without text', ofSeen('th', (e) => e.textContent.trim() === '')],
    ['td-has-header', '1.3.1', 'a cell that no head is for', ofSeen('td', (e) => !e.hasAttribute('colspan') && e.textContent.trim() !== '' && !e.closest('table').tHead?.rows[0]?.cells[e.cellIndex]?.matches('th'))],
    ['th-has-data', '1.3.1', 'heads of nothing', ofSeen('table', (e) => e.tHead !== null && e.tBodies[0]?.rows.length === 0)],
    ['table-fake-caption', '1.3.1', 'a row that is a caption', of('table', (e) => e.rows[0]?.cells.length === 1 && e.rows[0].cells[0].colSpan > 1)],
    ['table-nested', '1.3.1', 'a table for layout', of('table table', () => true)],
    ['sort-button', '2.1.1', 'sorted column without a button', of('[aria-sort]', (e) => !e.querySelector('button'))],

    // What a keyboard must reach.
    ['scrollable', '2.1.1', 'scrolls, and no keyboard reaches it', ofSeen('*', (e) => {
      if (e === html || e === document.body) return false;
      const style = getComputedStyle(e);
      const scrolls = (e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(style.overflowX)) || (e.scrollHeight > e.clientHeight + 1 && /auto|scroll/.test(style.overflowY));
      return scrolls && e.tabIndex < 0 && e.querySelector('a[href], button, input, select, textarea, [tabindex="0"]') === null;
    })],
    ['tabindex', '2.4.3', 'positive tabindex', of('[tabindex]', (e) => e.tabIndex > 0)],
    ['click-only', '2.1.1', 'a mouse alone can press it', of('*', (e) => e.onclick !== null && !e.matches(interactive) && e.tabIndex < 0)],
    ['inline', '1.4.12', 'an attribute that the page may not have', of('*', (e) => [...e.attributes].filter((a) => /^on/i.test(a.name) || (a.name === 'style' && a.value)).map((a) => 'attribute ' + a.name).join(' '))],
    ['target-size', '2.5.8', 'smaller than 24 pixels and close to another', (say) => {
      const boxes = all(interactive).filter((e) => seen(e) && !e.disabled && !e.matches('.scroll, [role=group], [role=region], main, .skip')).map((e) => [e, (e.matches('input[type=checkbox]') && e.closest('label') || e).getBoundingClientRect()]);
      for (const [e, box] of boxes) {
        if ((box.width >= 24 && box.height >= 24) || box.width < 2) continue;
        if (getComputedStyle(e).display === 'inline' && e.parentElement.textContent.trim() !== e.textContent.trim()) continue; // within a sentence
        const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
        const near = boxes.find(([o, b]) => {
          if (o === e || o.contains(e) || e.contains(o)) return false;
          const [dx, dy] = [Math.max(b.left - x, 0, x - b.right), Math.max(b.top - y, 0, y - b.bottom)];
          return Math.hypot(dx, dy) < 12 || (Math.min(b.width, b.height) < 24 && Math.hypot(b.left + b.width / 2 - x, b.top + b.height / 2 - y) < 24);
        });
        if (near) once('target' + e.className + e.tagName + e.parentElement.className, e, (e) => say(e, Math.round(box.width) + ' × ' + Math.round(box.height) + ' beside ' + where(near[0])));
      }
    }],
    ['focus-visible', '2.4.7', 'nothing shows that it has the focus', (say) => eachFocused((e, before) => {
      const style = getComputedStyle(e);
      const drawn = style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) >= 2;
      if (!drawn && style.boxShadow === before.boxShadow && style.backgroundColor === before.backgroundColor && style.borderColor === before.borderColor) say(e);
    })],
    ['focus-contrast', '1.4.11', 'contrast of the focus', (say) => eachFocused((e) => {
      const style = getComputedStyle(e);
      if (style.outlineStyle === 'none') return;
      const around = backOf(Number.parseFloat(style.outlineOffset) >= 0 ? e.parentElement : e);
      const r = ratio(over(rgba(style.outlineColor), around), around);
      if (r < 3) say(e, 'contrast of the focus ' + r.toFixed(2));
      const inside = textRatio(e, style);
      if (inside < needed(style)) say(e, 'contrast of its text with the focus ' + inside.toFixed(2));
    })],
    ['focus-not-obscured', '2.4.11', 'covered when it has the focus', (say) => eachFocused((e) => {
      e.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
      const box = e.getBoundingClientRect();
      const points = [[0.5, 0.5], [0.1, 0.2], [0.9, 0.8], [0.1, 0.8], [0.9, 0.2]].map(([x, y]) => document.elementFromPoint(box.left + x * box.width, box.top + y * box.height));
      if (box.height < innerHeight && !points.some((hit) => hit !== null && (e.contains(hit) || hit.contains(e)))) say(e);
    })],

    // Contrast.
    ['color-contrast', '1.4.3', 'contrast of text', (say) => {
      for (const e of all('body *').filter(seen)) {
        if (!e.matches(':not(script, style, title, desc, option)') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || disabled(e)) continue;
        const style = getComputedStyle(e);
        const r = textRatio(e, style);
        if (r < needed(style)) once('text' + (e instanceof SVGElement ? style.fill : style.color) + backOf(e), e, (e) => say(e, 'contrast of text ' + r.toFixed(2)));
      }
    }],
    ['control-contrast', '1.4.11', 'contrast of the edge of a control', ofSeen('input:not([type=range], [type=checkbox], [type=hidden]), select, textarea, button.clear', (e) => {
      const style = getComputedStyle(e);
      if (e.disabled || Number.parseFloat(style.borderTopWidth) === 0) return false;
      const around = backOf(e.parentElement);
      const r = ratio(over(rgba(style.borderTopColor), around), around);
      return r < 3 && 'contrast of the edge of a control ' + r.toFixed(2);
    })],
    // Marks of charts against the page, and text on the cells of heat maps.
    ['chart-contrast', '1.4.11', 'contrast of a chart', (say) => {
      for (const e of all('svg.chart path.fill, svg.chart path.stroke').filter(seen)) {
        if (e.matches('.c-grid')) continue;
        const style = getComputedStyle(e);
        const colour = rgba(e.matches('.fill') ? style.fill : style.stroke);
        const heat = /c-heat/.test(e.getAttribute('class'));
        const r = heat ? ratio(rgba(getComputedStyle(document.body).color), colour) : ratio(colour, page);
        if (r < (heat ? 4.5 : 3)) once(e.getAttribute('class'), e, (e) => say(e, 'contrast of ' + e.getAttribute('class') + ' ' + r.toFixed(2)));
      }
    }],
  ];

  // textRatio is the contrast of an element's own text.
  function textRatio(e, style) {
    const inDrawing = e instanceof SVGElement;
    const back = backOf(inDrawing ? e.closest('svg').parentElement : e);
    return ratio(over(faded(rgba(inDrawing ? style.fill : style.color), e), back), back);
  }

  // eachFocused gives the focus to one of each sort of control, as a key does, and puts it back.
  function eachFocused(look) {
    const had = document.activeElement;
    const [x, y] = [scrollX, scrollY];
    const sorts = new Set();
    for (const e of all(interactive).filter((e) => seen(e) && !e.disabled)) {
      const sort = [e.tagName, e.type, e.className, e.parentElement.tagName, e.parentElement.className, e.closest('section')?.id].join(' ');
      if (sorts.has(sort)) continue;
      sorts.add(sort);
      const { boxShadow, backgroundColor, borderColor } = getComputedStyle(e);
      e.focus({ focusVisible: true, preventScroll: true });
      if (document.activeElement === e) look(e, { boxShadow, backgroundColor, borderColor });
    }
    document.activeElement?.blur();
    had?.focus({ preventScroll: true });
    scrollTo(x, y);
  }

  for (const [rule, criterion, wrong, find] of rules) {
    find((e, words) => found.push(rule + ' (' + criterion + '): ' + (words || wrong) + ': ' + where(e)));
  }
  return found;
})()
