// Questions one by one, as several rows answer them. Rankings are packed: they are
// unpacked once the page is idle, or when a question is shown.
(() => {
  const section = document.getElementById('explorer');
  const form = document.getElementById('explorer-form');
  const list = document.getElementById('explorer-questions');
  const more = document.getElementById('explorer-more');
  const panel = document.getElementById('explorer-question');
  const data = raglab.data('explorer');
  const el = raglab.el;
  const slots = ['a', 'b', 'c', 'd'];
  const page = 200;

  // lostAt are, by measurement, the stages at which questions were lost.
  const lostAt = data.losses.map((pairs) => {
    const stages = new Map();
    for (let i = 0; i < pairs.length; i += 2) stages.set(pairs[i], data.stages[pairs[i + 1]]);
    return stages;
  });
  const valueOf = (row, q) => data.values[data.measurements[row]][q] ?? null;
  const lossOf = (row, q) => lostAt[data.measurements[row]].get(q);

  let shown = []; // the questions that fit, by place
  let drawn = 0; // how many of them are in the list
  let chosen = -1;

  // unpack reads the rankings.
  let unpacking = null;
  function unpack() {
    unpacking ??= !data.packed ? Promise.resolve(null) : (async () => {
      const text = atob(await raglab.later('explorer'));
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
      const details = await new Response(stream).json();
      details.places = new Map(details.questions.map((question, i) => [question.id, i]));
      return details;
    })();
    return unpacking;
  }

  // The choice of rows and filters.
  const rowsChosen = () => slots.map((slot) => form[slot].value).filter((v) => v !== '').map(Number);

  function offer() {
    for (const slot of slots) {
      if (slot > 'b' || data.names.length < 2 && slot === 'b') form[slot].append(el('option', { value: '' }, 'none'));
      data.names.forEach((name, i) => form[slot].append(el('option', { value: String(i), dir: 'auto' }, name)));
    }
    const tags = new Set();
    for (const question of data.questions) for (const tag of tagsOf(question)) tags.add(tag);
    for (const tag of [...tags].sort()) form.tag.append(el('option', { value: tag, dir: 'auto' }, tag));
    const lost = new Set(lostAt.flatMap((stages) => [...stages.values()]));
    for (const stage of data.stages) if (lost.has(stage)) form.lost.append(el('option', { value: stage }, stage));
    form.lost.disabled = lost.size === 0;
  }

  // tagsOf are a question's tags; its part is one.
  function tagsOf(question) {
    return question.part ? [...(question.tags || []), 'part:' + question.part] : question.tags || [];
  }

  const shows = {
    'a-b': (a, b) => a > 0 && b === 0,
    'b-a': (a, b) => b > 0 && a === 0,
    'a>b': (a, b) => a != null && b != null && a > b,
    'a<b': (a, b) => a != null && b != null && a < b,
    never: (a, b, all) => all.length > 0 && all.every((v) => v === 0),
    always: (a, b, all) => all.length > 0 && all.every((v) => v > 0),
  };

  function fits(question, q) {
    const [a, b] = [form.a.value, form.b.value];
    const show = shows[form.show.value];
    if (show) {
      const all = data.values.map((values) => values[q]).filter((v) => v != null);
      if (!show(a === '' ? null : valueOf(Number(a), q), b === '' ? null : valueOf(Number(b), q), all)) return false;
    }
    if (form.lost.value !== '' && lossOf(Number(a), q) !== form.lost.value) return false;
    if (form.tag.value !== '' && !tagsOf(question).includes(form.tag.value)) return false;
    const sought = form.text.value.trim().toLocaleLowerCase();
    return sought === '' || (question.id + ' ' + question.text).toLocaleLowerCase().includes(sought);
  }

  // filter lists the questions that fit.
  function filter() {
    shown = [];
    data.questions.forEach((question, q) => { if (fits(question, q)) shown.push(q); });
    list.replaceChildren();
    drawn = 0;
    draw(page);
    const said = shown.length + ' of ' + data.questions.length + ' questions';
    document.getElementById('explorer-shown').textContent = said;
    raglab.say(said);
  }

  function draw(upTo) {
    const rows = rowsChosen();
    for (; drawn < Math.min(upTo, shown.length); drawn++) {
      const q = shown[drawn];
      const question = data.questions[q];
      const values = rows.map((row, i) => slots[i].toUpperCase() + ' ' + valueText(valueOf(row, q))).join(', ');
      const button = el('button', { type: 'button', 'data-question': String(q), 'aria-current': q === chosen ? 'true' : null },
        el('span', { dir: 'auto' }, question.text || question.id), el('span', { class: 'values' }, values));
      list.append(el('li', {}, button));
    }
    more.hidden = drawn >= shown.length;
  }

  const valueText = (v) => v == null ? 'not scored' : v.toFixed(3);

  // choose shows a question.
  function choose(q, focus) {
    chosen = q;
    for (const button of list.querySelectorAll('[aria-current]')) button.removeAttribute('aria-current');
    const at = shown.indexOf(q);
    if (at >= drawn) draw(at + page);
    const button = list.querySelector('[data-question="' + q + '"]');
    if (button) {
      button.setAttribute('aria-current', 'true');
      if (focus) button.focus({ preventScroll: false });
    }
    return present();
  }

  // present fills the panel, once with what is known at once and again with rankings.
  let presented = 0;
  async function present() {
    const turn = ++presented;
    if (chosen < 0) {
      panel.replaceChildren(el('p', { class: 'note' }, 'No question is chosen.'));
      return;
    }
    const details = await unpack();
    if (turn !== presented) return;
    panel.replaceChildren(...questionParts(details, chosen));
    panel.scrollTop = 0;
    raglab.say('Question ' + data.questions[chosen].id);
  }

  function questionParts(details, q) {
    const question = data.questions[q];
    const parts = [el('h3', { dir: 'auto' }, question.text || question.id)];
    parts.push(el('p', { class: 'note' }, el('span', { dir: 'auto' }, question.id), ...tagsOf(question).map((tag) => el('span', { class: 'chip', dir: 'auto' }, tag))));
    const d = details?.places.has(question.id) ? { details, q: details.places.get(question.id) } : null;
    if (d) parts.push(...judgedParts(d));
    const rows = rowsChosen();
    parts.push(summary(d, q, rows));
    if (d) parts.push(el('div', { class: 'rankings' }, ...rows.map((row, i) => ranking(d, row, i, rows))));
    else if (details) parts.push(el('p', { class: 'note' }, 'The rankings of this question are not in this file.'));
    return parts;
  }

  // judgedParts say what is relevant.
  function judgedParts({ details, q }) {
    const judged = details.questions[q].judged.filter((j) => j.grade > 0);
    if (judged.length === 0) return [el('p', { class: 'note' }, 'Nothing is relevant to it.')];
    const item = (j) => el('li', {}, el('span', { dir: 'auto' }, j.doc), j.grade !== 1 ? ' (grade ' + j.grade + ')' : '',
      j.span ? ': ' : '', j.span ? el('q', { dir: 'auto' }, j.span) : '');
    const first = judged.slice(0, 5).map(item);
    if (judged.length > 5) first.push(el('li', {}, 'and ' + (judged.length - 5) + ' more'));
    return [el('p', { class: 'label' }, 'Relevant'), el('ul', {}, ...first)];
  }

  // summary is the table of what the rows made of the question.
  function summary(d, q, rows) {
    const head = ['letter', 'configuration', data.primary];
    if (d) head.push(relevantName(d), 'answer after chunking');
    head.push('lost at');
    const body = rows.map((row, i) => {
      const cells = [el('td', {}, slots[i].toUpperCase()), el('th', { scope: 'row', dir: 'auto' }, data.names[row]), el('td', { class: 'number' }, valueText(valueOf(row, q)))];
      if (d) {
        const its = d.details.rows[row];
        const run = d.details.runs[its.run];
        cells.push(el('td', { class: 'number' }, run ? firstText(d, run) : 'not here'), el('td', { class: 'prose' }, fateText(d, its.chunker)));
      }
      cells.push(el('td', {}, lossOf(row, q) || '–'));
      return el('tr', {}, ...cells);
    });
    return el('div', { class: 'scroll', role: 'group', 'aria-label': 'What the configurations made of the question', tabindex: '0' },
      el('table', {}, el('caption', {}, 'What the configurations made of it'),
        el('thead', {}, el('tr', {}, ...head.map((name) => el('th', { scope: 'col' }, name)))), el('tbody', {}, ...body)));
  }

  // relevantName says what the rank of the first relevant is counted in: where documents are
  // judged, several chunks of one document are one of them.
  const relevantName = (d) => d.details.relevance === 'document' ? 'first relevant document' : 'first relevant';

  function firstText({ details, q }, run) {
    if (run.first[q] > 0) return '#' + run.first[q];
    return 'none in ' + run.found[q];
  }

  // fateText says what the chunker did to each answer span.
  function fateText({ details, q }, chunker) {
    const fates = chunker < 0 ? null : details.chunkers[chunker].fates[q];
    if (!fates || fates.length === 0) return '–';
    return fates.map((fate) => {
      if (fate.fate === 'whole') return 'whole';
      const pieces = (fate.pieces || []).map((p) => placeText(details, details.chunks[p.chunk]) + ' holds ' + percent(p.share));
      return fate.fate + (pieces.length > 0 ? ': ' + pieces.join(', ') : ', at most ' + percent(fate.share) + ' in one chunk');
    }).join('; ');
  }

  const percent = (share) => Math.round(100 * share) + '\u00a0%';
  const placeText = (details, chunk) => details.documents[chunk.document].id + '#' + chunk.n;

  // found is where a run has a chunk, or null.
  function found(details, at, q, chunk) {
    const run = details.runs[at];
    const place = (run.hits?.[q] || []).indexOf(chunk);
    if (place >= 0) return { rank: place + 1, score: run.scores[q][place] };
    const beyond = run.beyond?.[q] || [];
    for (let i = 0; i < beyond.length; i += 3) if (beyond[i + 1] === chunk) return { rank: beyond[i], score: beyond[i + 2] };
    return null;
  }

  // origins are the runs that one is made of, with what to call them.
  function origins(details, at) {
    const run = details.runs[at];
    return (run.inputs || []).flatMap((input) => {
      const name = run.stage === 'rerank' ? 'before reranking' : details.runs[input].label;
      return [{ name, at: input }, ...origins(details, input)];
    });
  }

  const scoreText = (v) => v == null ? 'no number' : String(Number(v.toPrecision(4)));

  // ranking is one row's column.
  function ranking(d, row, i, rows) {
    const { details, q } = d;
    const its = details.rows[row];
    const label = slots[i].toUpperCase() + ': ' + data.names[row];
    const made = el('section', { class: 'ranking', 'aria-label': label }, el('h4', { dir: 'auto' }, label));
    const run = details.runs[its.run];
    if (!run) {
      made.append(el('p', { class: 'note' }, 'Its ranking is not in this file.'));
      return made;
    }
    const text = its.text >= 0 ? details.texts[its.text] : null;
    const terms = termsOf(d, text);
    const hits = run.hits[q].map((chunk, place) => ({ chunk, rank: place + 1, score: run.scores[q][place] }));
    const beyond = run.beyond?.[q] || [];
    for (let b = 0; b < beyond.length; b += 3) {
      if (gradeOf(d, its, beyond[b + 1]) > 0) hits.push({ rank: beyond[b], chunk: beyond[b + 1], score: beyond[b + 2] });
    }
    made.append(el('p', { class: 'note' }, run.found[q] + ' hits; ' + (run.first[q] > 0 ? 'the ' + relevantName(d) + ' at #' + run.first[q] : 'none relevant') + '. ',
      text ? 'Words marked by the text handling ' : 'Words marked that are the question’s, letter by letter', text ? el('span', { dir: 'auto' }, text.name) : '', '.'));
    if (hits.length === 0) made.append(el('p', {}, 'Nothing was found.'));
    made.append(el('ol', { class: 'hits' }, ...hits.map((hit) => hitItem(d, its, hit, terms, row, rows))));
    return made;
  }

  function hitItem(d, its, hit, terms, row, rows) {
    const { details, q } = d;
    const chunk = details.chunks[hit.chunk];
    const doc = details.documents[chunk.document];
    const grade = gradeOf(d, its, hit.chunk);
    const from = origins(details, its.run).map(({ name, at }) => {
      const place = found(details, at, q, hit.chunk);
      return el('span', { class: 'leg' }, el('span', { dir: 'auto' }, name), place ? ' #' + place.rank + ' (' + scoreText(place.score) + ')' : missing(details.runs[at], q));
    });
    const others = rows.filter((other) => other !== row).map((other) => {
      const at = details.rows[other];
      if (at.run < 0 || at.chunker !== its.chunker) return null;
      const place = found(details, at.run, q, hit.chunk);
      return place ? slots[rows.indexOf(other)].toUpperCase() + ' #' + place.rank : null;
    }).filter(Boolean);
    const item = el('li', { class: grade > 0 ? 'hit relevant' : 'hit', value: String(hit.rank) },
      el('div', { class: 'hit-head' },
        el('strong', {}, '#' + hit.rank), el('span', {}, scoreText(hit.score)),
        grade > 0 ? el('span', { class: 'grade' }, grade === 1 ? 'relevant' : 'relevant, grade ' + grade) : '',
        others.length > 0 ? el('span', { class: 'leg' }, 'also ' + others.join(', ')) : ''),
      from.length > 0 ? el('div', { class: 'legs' }, ...from) : '',
      el('div', { class: 'source' }, el('span', { dir: 'auto' }, doc.title || doc.id),
        el('span', { class: 'leg', dir: 'auto' }, placeText(details, chunk) + (chunk.passage ? ' (passage)' : '') + ', bytes ' + chunk.start + '–' + chunk.end),
        chunk.heading ? el('span', { class: 'leg', dir: 'auto' }, chunk.heading) : ''));
    item.append(textBlock(d, chunk, terms));
    return item;
  }

  // missing says that a run has not got a hit: for sure when all of it is here.
  function missing(run, q) {
    return ' not in its ' + run.found[q];
  }

  // gradeOf is a chunk's grade for the question, 0 where it is not relevant.
  function gradeOf({ details, q }, its, chunk) {
    if (details.relevance === 'document') {
      const doc = details.documents[details.chunks[chunk].document];
      let grade = 0;
      for (const j of details.questions[q].judged) if (j.doc === (doc.whole || doc.id)) grade = Math.max(grade, j.grade);
      return grade;
    }
    const pairs = details.chunkers[its.chunker].relevant[q];
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === chunk) return pairs[i + 1];
    return 0;
  }

  const words = () => /[\p{L}\p{M}\p{N}_]+(?:['’ʼ][\p{L}\p{M}\p{N}_]+)*/gu;

  // termsOf tells whether a word is one by which the question finds a chunk.
  function termsOf({ details, q }, text) {
    if (text) {
      const forms = new Set(text.forms[q]);
      return (word) => forms.has(word);
    }
    const asked = new Set((details.questions[q].text.match(words()) || []).map((w) => w.toLowerCase()));
    return (word) => asked.has(word.toLowerCase());
  }

  // What is shown of a long text before it is unfolded, in UTF-16 units.
  const excerpt = 600;

  // textBlock is a chunk's text with the answer span and the terms marked: of a long one
  // the part around the answer or the first term, and all of it to unfold.
  function textBlock({ q }, chunk, terms) {
    if (!chunk.text) return el('p', { class: 'note' }, chunk.after ? 'The text of ' + chunk.after + ' characters is not in this file.' : 'It has no text.');
    const marks = { answer: [], term: [] };
    const its = chunk.marks || [];
    for (let i = 0; i < its.length; i += 3) if (its[i] === q) marks.answer.push([its[i + 1], its[i + 2]]);
    for (const match of chunk.text.matchAll(words())) if (terms(match[0])) marks.term.push([match.index, match.index + match[0].length]);
    const look = listed(chunk.text) ? 'text flowing' : 'text';
    const whole = el('p', { class: look, dir: 'auto' }, chunk.before ? left(chunk.before, 'before') : '', ...marked(chunk.text, 0, chunk.text.length, marks), chunk.after ? left(chunk.after, 'after') : '');
    if (chunk.text.length <= 1.5 * excerpt) return whole;
    const first = (marks.answer[0] || marks.term[0] || [0])[0];
    const from = edge(chunk.text, Math.max(0, Math.min(first - Math.floor(excerpt / 4), chunk.text.length - excerpt)));
    const to = edge(chunk.text, from + excerpt);
    return el('div', {},
      el('p', { class: look, dir: 'auto' }, from > 0 ? '… ' : '', ...marked(chunk.text, from, to, marks), to < chunk.text.length ? ' …' : ''),
      el('details', {}, el('summary', {}, 'All of its text'), whole));
  }

  // listed tells whether a text has so many lines, such as the cells of a table one by one,
  // that they are shown one after the other.
  const listed = (text) => (text.match(/\n/g) || []).length > 4 + text.length / 40;

  const left = (n, where) => el('span', { class: 'note' }, ' [' + n + ' characters ' + where + '] ');

  // edge is the next blank, or the place itself where none is near.
  function edge(text, at) {
    if (at <= 0 || at >= text.length) return Math.max(0, Math.min(at, text.length));
    const blank = text.slice(at, at + 40).search(/\s/);
    if (blank >= 0) return at + blank;
    return /[\uDC00-\uDFFF]/.test(text[at]) ? at + 1 : at;
  }

  // marked cuts a part of a text at every edge of a mark; all pieces are text, none is
  // markup.
  function marked(text, from, to, { answer, term }) {
    const edges = new Set([from, to]);
    for (const place of [...answer, ...term].flat()) if (from < place && place < to) edges.add(place);
    const cuts = [...edges].sort((x, y) => x - y);
    const inside = (ranges, at) => ranges.some((range) => range[0] <= at && at < range[1]);
    const pieces = [];
    for (let i = 0; i + 1 < cuts.length; i++) {
      const piece = text.slice(cuts[i], cuts[i + 1]);
      const classes = [inside(answer, cuts[i]) ? 'answer' : '', inside(term, cuts[i]) ? 'term' : ''].join(' ').trim();
      pieces.push(classes ? el('mark', { class: classes }, piece) : piece);
    }
    return pieces;
  }

  // move goes to the next question that fits, or the one before.
  function move(by) {
    if (shown.length === 0) return;
    const at = shown.indexOf(chosen);
    const next = at < 0 ? 0 : Math.max(0, Math.min(shown.length - 1, at + by));
    choose(shown[next], true);
    store();
  }

  // The state is in the address: the question by its id, rows by their names.
  function store() {
    const params = new URLSearchParams();
    if (chosen >= 0) params.set('q', data.questions[chosen].id);
    for (const slot of slots) if (form[slot].value !== '') params.set(slot, data.names[form[slot].value]);
    for (const name of ['show', 'lost', 'tag', 'text']) if (form[name].value !== '') params.set(name, form[name].value);
    raglab.state.set('explorer', params);
  }

  function restore(params, first) {
    slots.forEach((slot, i) => {
      const at = data.names.indexOf(params.get(slot));
      const usual = params.size === 0 || i < 2 ? data.first[i] : undefined;
      form[slot].value = at >= 0 ? String(at) : usual ?? '';
    });
    for (const name of ['show', 'lost', 'tag']) {
      form[name].value = params.get(name) ?? '';
      if (form[name].selectedIndex < 0) form[name].value = '';
    }
    form.text.value = params.get('text') ?? '';
    filter();
    const q = data.questions.findIndex((question) => question.id === params.get('q'));
    if (q >= 0 || first) choose(q >= 0 ? q : shown[0] ?? -1, first);
    else choose(-1, false);
    if (first) section.scrollIntoView();
  }

  form.addEventListener('input', () => {
    filter();
    if (!shown.includes(chosen)) chosen = shown[0] ?? -1;
    choose(chosen, false);
    store();
  });
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', (event) => {
    event.preventDefault();
    for (const name of ['show', 'lost', 'tag', 'text']) form[name].value = '';
    filter();
    choose(chosen, false);
    store();
  });
  list.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    choose(Number(button.dataset.question), false);
    store();
  });
  more.addEventListener('click', () => draw(drawn + page));
  section.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select')) return;
    const inList = list.contains(event.target);
    const by = { j: 1, k: -1, ArrowDown: inList ? 1 : 0, ArrowUp: inList ? -1 : 0 }[event.key];
    if (by) move(by);
    if (by || event.key === '/') event.preventDefault();
  });
  // The search gets the focus once the key is up, or it would get the key as well.
  section.addEventListener('keyup', (event) => {
    if (event.key === '/' && !event.target.closest('input, select')) form.text.focus();
  });

  // The first question that fits is shown once a reader comes near.
  new IntersectionObserver((seen, observer) => {
    if (!seen.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    if (chosen < 0 && shown.length > 0) choose(shown[0], false);
  }, { rootMargin: '1000px' }).observe(section);

  offer();
  raglab.state.watch('explorer', restore);
  (globalThis.requestIdleCallback || setTimeout)(() => unpack());
})();
