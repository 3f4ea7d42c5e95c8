// Returns a list of sentences; an empty one says that nothing was found.
(() => {
  const found = [];
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const seen = (e) => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false });
  const path = (e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className && e.className.baseVal === undefined ? '.' + e.className : '') + ' "' + e.textContent.trim().slice(0, 30) + '"';
  const say = (what, e) => found.push(what + ': ' + path(e));

  // What the document as a whole must have.
  if (!document.documentElement.lang) found.push('the document has no language');
  if (!document.title) found.push('the document has no title');
  if (all('main').length !== 1) found.push('not one main landmark');
  if (all('h1').length !== 1) found.push('not one h1');
  for (const e of all('nav:not([aria-label]):not([aria-labelledby])')) say('navigation without a name', e);

  const ids = new Set();
  for (const e of all('[id]')) {
    if (ids.has(e.id)) say('id twice', e);
    ids.add(e.id);
  }
  for (const name of ['aria-labelledby', 'aria-describedby', 'aria-controls', 'for']) {
    for (const e of all('[' + name + ']')) {
      for (const id of e.getAttribute(name).split(/\s+/)) if (!ids.has(id)) say(name + ' names nothing, ' + id, e);
    }
  }
  let level = 0;
  for (const e of all('h1, h2, h3, h4, h5, h6').filter(seen)) {
    const next = Number(e.tagName[1]);
    if (next > level + 1) say('heading skips a level', e);
    if (e.textContent.trim() === '') say('heading without text', e);
    level = next;
  }

  // What must have a name.
  const named = (e) => (e.getAttribute('aria-label') || '').trim() !== ''
    || (e.getAttribute('aria-labelledby') || '').split(/\s+/).some((id) => document.getElementById(id)?.textContent.trim())
    || (e.labels && [...e.labels].some((l) => l.textContent.trim()))
    || (['BUTTON', 'A', 'SUMMARY'].includes(e.tagName) && e.textContent.trim() !== '');
  for (const e of all('button, a[href], input, select, textarea, summary, [role=group], [role=img], [role=region], output')) {
    if (e.tagName !== 'OUTPUT' && !named(e)) say('no name', e);
  }
  for (const e of all('img:not([alt])')) say('image without alt', e);
  for (const e of all('svg[role=img]')) {
    if (!e.querySelector(':scope > title')?.textContent.trim() || !e.querySelector(':scope > desc')?.textContent.trim()) say('drawing without title or description', e);
  }
  for (const e of all('table')) {
    if (!e.caption || e.caption.textContent.trim() === '') say('table without caption', e);
  }
  for (const e of all('th:not([scope])')) say('head without scope', e);
  for (const e of all('[aria-sort]')) if (!e.querySelector('button')) say('sorted column without a button', e);

  // What a keyboard must reach.
  for (const e of all('*').filter(seen)) {
    const style = getComputedStyle(e);
    const scrolls = (e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(style.overflowX)) || (e.scrollHeight > e.clientHeight + 1 && /auto|scroll/.test(style.overflowY));
    const reached = e.tabIndex >= 0 || e.querySelector('a[href], button, input, select, textarea, [tabindex="0"]');
    if (scrolls && e !== document.documentElement && !reached) say('scrolls, and no keyboard reaches it', e);
    if (e.tabIndex > 0) say('positive tabindex', e);
    for (const a of e.attributes) if (/^on/i.test(a.name) || a.name === 'style') {
      if (a.name !== 'style' || e.getAttribute('style')) found.push('attribute ' + a.name + ' at ' + path(e));
    }
  }

  // Contrast, by WCAG's formula.
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  canvas.canvas.width = canvas.canvas.height = 1;
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const backOf = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const poor = new Set();
  for (const e of all('body *').filter(seen)) {
    if (!e.matches(':not(script, style, title, desc, option)') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const style = getComputedStyle(e);
    const inDrawing = e instanceof SVGElement;
    const size = Number.parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const back = backOf(inDrawing ? e.closest('svg').parentElement : e);
    const r = ratio(over(rgba(inDrawing ? style.fill : style.color), back), back);
    const key = (inDrawing ? style.fill : style.color) + back;
    if (r < (large ? 3 : 4.5) && !poor.has(key)) {
      poor.add(key);
      say('contrast of text ' + r.toFixed(2), e);
    }
  }
  // Marks of charts against the page, and text on the cells of heat maps.
  const page = backOf(document.body);
  for (const e of all('svg.chart path.fill, svg.chart path.stroke').filter(seen)) {
    if (e.matches('.c-grid')) continue;
    const style = getComputedStyle(e);
    const colour = rgba(e.matches('.fill') ? style.fill : style.stroke);
    const heat = /c-heat/.test(e.getAttribute('class'));
    const r = heat ? ratio(rgba(getComputedStyle(document.body).color), colour) : ratio(colour, page);
    const key = e.getAttribute('class');
    if (r < (heat ? 4.5 : 3) && !poor.has(key)) {
      poor.add(key);
      found.push('contrast of ' + key + ' ' + r.toFixed(2));
    }
  }
  return found;
})()
