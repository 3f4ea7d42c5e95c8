// Limits decide which rows remain. A row that remains is held against the best of them,
// by the report's own interval where that is the best of all, else by a bootstrap here.
(() => {
  const form = document.getElementById('decisions-form');
  const data = raglab.data('decisions');
  const rows = data.rows;
  const el = raglab.el;
  const minus = '\u2212';

  // What can be limited: how a row's value is shown, and what keeps it.
  const kinds = {
    quality: { name: data.primary, unit: 1, least: true, text: (v) => v.toFixed(3), of: (r) => r.quality },
    p95: { name: 'p95', unit: 1, suffix: ' ms', text: (v) => figure(v), of: (r) => r.p95, near: (r) => r.composed },
    index: { name: 'index', unit: 1e6, suffix: ' MB', text: (v) => figure(v / 1e6), of: (r) => r.index },
    ingest: { name: 'ingest', unit: 1, suffix: ' s', text: (v) => figure(v), of: (r) => r.ingest },
    usd: { name: 'price of 1,000 questions', unit: 1, suffix: ' USD', text: (v) => figure(v), of: (r) => r.usd, declared: (r) => r.service, near: (r) => r.estimated },
  };

  // figure has as many decimals as mean something.
  function figure(v) {
    const size = Math.abs(v);
    if (size === 0) return '0';
    if (size < 0.001) return v.toPrecision(2);
    return v.toFixed(size < 0.1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0);
  }

  // shown is a row's value, with how it is known as a class and in words.
  function shown(kind, row) {
    const v = kind.of(row);
    if (v == null) return el('span', { class: 'unknown' }, 'unmeasured');
    const near = kind.near && kind.near(row);
    if ((kind.declared && kind.declared(row)) || near) {
      return el('span', { class: 'declared', title: near ? 'an estimate, or a sum of parts' : 'by a declared price' }, (near ? '≈ ' : '') + kind.text(v));
    }
    return el('span', { class: 'measured' }, kind.text(v));
  }

  // steps are the distinct values of a limit, in the units of its field, by which its
  // slider moves; the last place is no limit.
  const controls = new Map();
  for (const box of form.querySelectorAll('[data-limit]')) {
    const kind = kinds[box.dataset.limit];
    const [field, slider] = box.querySelectorAll('input');
    const known = rows.map(kind.of).filter((v) => v != null).map((v) => rounded(v / kind.unit, kind.least));
    const steps = [...new Set(known)].sort((a, b) => kind.least ? b - a : a - b);
    slider.max = steps.length;
    field.disabled = slider.disabled = steps.length === 0;
    controls.set(box.dataset.limit, { kind, field, slider, steps });
  }

  // rounded has few digits, and is on the side of the value that keeps it.
  function rounded(v, least) {
    if (v === 0) return 0;
    const digits = 10 ** (3 - Math.floor(Math.log10(Math.abs(v))));
    return Number(((least ? Math.floor(v * digits) : Math.ceil(v * digits)) / digits).toPrecision(12));
  }

  const limitOf = (c) => c.field.value === '' || !Number.isFinite(c.field.valueAsNumber) ? null : c.field.valueAsNumber;

  // follow puts the slider where the field is.
  function follow(c) {
    const limit = limitOf(c);
    let at = c.steps.length;
    if (limit != null) {
      at = c.steps.findLastIndex((s) => c.kind.least ? s >= limit : s <= limit);
      if (c.kind.least && c.steps.every((s) => s >= limit)) at = c.steps.length - 1;
      at = Math.max(0, at);
    }
    c.slider.value = at;
    c.slider.setAttribute('aria-valuetext', limit == null ? 'no limit' : c.field.value + (c.kind.suffix || ''));
  }

  // failures are sentences: why a row does not keep to the limits.
  function failures(row) {
    const why = [];
    for (const c of controls.values()) {
      const limit = limitOf(c);
      if (limit == null) continue;
      const v = c.kind.of(row);
      const bound = (c.kind.least ? 'at least ' : 'at most ') + limit + (c.kind.suffix || '');
      if (v == null) {
        if (!form.unmeasured.checked) why.push(c.kind.name + ' is unmeasured, asked for is ' + bound);
        continue;
      }
      const value = v / c.kind.unit;
      const slack = 1e-9 * Math.abs(limit);
      if (c.kind.least ? value < limit - slack : value > limit + slack) {
        why.push(c.kind.name + ' is ' + c.kind.text(v) + (c.kind.suffix || '') + ', asked for is ' + bound);
      }
    }
    if (form.local.checked && row.service) why.push('it asks a service');
    if (form.serverless.checked && row.server) why.push('it needs a database server');
    return why;
  }

  // The counts of a bootstrap: for each resample, how often each question is drawn.
  const resamples = 2000;
  let drawn = null;
  function draw(n) {
    if (drawn && drawn.n === n) return drawn.counts;
    let state = 20240229;
    const next = () => { // mulberry32
      state = (state + 0x6D2B79F5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return (t ^ (t >>> 14)) >>> 0;
    };
    const counts = [];
    for (let b = 0; b < resamples; b++) {
      const one = new Float32Array(n);
      for (let i = 0; i < n; i++) one[Math.floor(next() / 4294967296 * n)]++;
      counts.push(one);
    }
    drawn = { n, counts };
    return counts;
  }

  // compared is a row's difference from another one, with its interval.
  const remembered = new Map();
  function compared(row, best) {
    if (row === best) return null;
    if (row.measurement === best.measurement && row.measurement >= 0) return { difference: 0, low: 0, high: 0 };
    if (best.quality != null && !best.against && row.against) return row.against;
    const key = row.measurement + ' ' + best.measurement;
    if (!remembered.has(key)) remembered.set(key, resampled(row, best));
    return remembered.get(key);
  }

  function resampled(row, best) {
    const [a, b] = [data.values[row.measurement], data.values[best.measurement]];
    if (!a || !b) return null;
    const differences = [];
    for (let q = 0; q < a.length; q++) if (a[q] != null && b[q] != null) differences.push(a[q] - b[q]);
    const n = differences.length;
    if (n < 2) return null;
    const typed = Float32Array.from(differences);
    const means = new Float64Array(resamples);
    draw(n).forEach((counts, i) => {
      let sum = 0;
      for (let q = 0; q < n; q++) sum += counts[q] * typed[q];
      means[i] = sum / n;
    });
    means.sort();
    const at = (share) => { // linear between ranks, as the report's
      const place = share * (resamples - 1);
      const below = Math.floor(place);
      return means[below] + (place - below) * (means[Math.min(below + 1, resamples - 1)] - means[below]);
    };
    return { difference: differences.reduce((x, y) => x + y, 0) / n, low: at(0.025), high: at(0.975) };
  }

  const level = (c) => c != null && c.low <= 0 && c.high >= 0;

  // cheaper orders rows by costs as the report does: rounded to two digits, the next
  // cost where they are the same, unmeasured ones last, then by quality.
  const least = { p95: 1, ingest: 0.1, index: 1e4, usd: 1e-6 };
  function cheaper(order, a, b) {
    for (const name of order) {
      const [x, y] = [kinds[name].of(a), kinds[name].of(b)];
      if (x == null || y == null) {
        if ((x == null) !== (y == null)) return x == null ? 1 : -1;
        continue;
      }
      const [p, q] = [noise(x, least[name]), noise(y, least[name])];
      if (Math.abs(p - q) > 1e-9 * Math.max(p, q)) return p - q;
    }
    return (b.quality ?? -1) - (a.quality ?? -1);
  }

  function noise(v, step) {
    const unit = Math.max(step, v > 0 ? 10 ** (Math.floor(Math.log10(v)) - 1) : 0);
    return Math.round(v / unit) * unit;
  }

  const signed = (v) => (v < 0 ? minus : '+') + Math.abs(v).toFixed(3);

  // update shows what remains.
  function update() {
    const remain = [];
    const fell = [];
    for (const row of rows) {
      const why = failures(row);
      if (why.length === 0) remain.push(row);
      else fell.push({ row, why });
    }
    const order = [form.cheap.value, ...data.order.filter((name) => name !== form.cheap.value)];
    const byQuality = (a, b) => (b.quality ?? -1) - (a.quality ?? -1);
    remain.sort(byQuality);
    fell.sort((a, b) => byQuality(a.row, b.row));
    const best = remain[0];
    const against = new Map(remain.map((row) => [row, compared(row, best)]));
    const candidates = remain.filter((row) => row.quality != null && (row === best || level(against.get(row))));
    const recommended = [...candidates].sort((a, b) => cheaper(order, a, b))[0];
    fill('decisions-remain', remain.map((row, i) => remaining(row, i, against.get(row), row === recommended, best)));
    fill('decisions-fell', fell.map(({ row, why }) => el('tr', {},
      el('th', { scope: 'row', dir: 'auto' }, row.name), el('td', { class: 'number' }, shown(kinds.quality, row)), el('td', { class: 'prose' }, why.join('; ')))));
    say(remain, recommended, best, order[0]);
  }

  function remaining(row, i, c, recommended, best) {
    const cell = (name) => el('td', { class: 'number' }, shown(kinds[name], row));
    let verdict = row === best ? 'best of these' : 'not tested';
    if (c) verdict = level(c) ? 'yes' : 'no';
    const made = el('tr', { class: recommended ? 'recommended' : null },
      el('td', { class: 'number' }, String(i + 1)),
      el('th', { scope: 'row', dir: 'auto' }, row.name, recommended ? el('strong', { class: 'tag' }, ' recommended') : ''),
      cell('quality'),
      el('td', { class: 'number' }, c ? signed(c.difference) + ' (' + signed(c.low) + ' to ' + signed(c.high) + ')' : '–'),
      el('td', { class: 'verdict ' + (row === best ? 'best' : { yes: 'level', no: 'separated' }[verdict] || '') }, verdict),
      cell('p95'), cell('index'), cell('ingest'));
    if (controls.has('usd')) made.append(cell('usd'));
    return made;
  }

  function fill(id, made) {
    const body = document.getElementById(id).tBodies[0];
    body.replaceChildren(...made);
    if (made.length === 0) body.append(el('tr', {}, el('td', { colspan: '9', class: 'none' }, 'none')));
  }

  function say(remain, recommended, best, cheap) {
    let text = remain.length + ' of ' + rows.length + ' configurations remain. ';
    if (recommended) {
      text += 'Recommended: ' + recommended.name + ', ';
      text += recommended === best ? 'the best of them' : 'whose interval from the best, ' + best.name + ', holds 0';
      text += ' (' + kinds.quality.text(recommended.quality);
      const v = kinds[cheap].of(recommended);
      text += ', ' + kinds[cheap].name + ' ' + (v == null ? 'unmeasured' : kinds[cheap].text(v) + kinds[cheap].suffix) + ').';
    } else if (remain.length > 0) {
      text += 'None is recommended: ' + data.primary + ' is unmeasured.';
    } else {
      text += 'No configuration keeps to these limits.';
    }
    document.getElementById('decisions-said').textContent = text;
  }

  // The state of the form is in the address.
  function store() {
    const params = new URLSearchParams();
    for (const [name, c] of controls) if (limitOf(c) != null) params.set(name, c.field.value);
    for (const name of ['local', 'serverless', 'unmeasured']) if (form[name].checked) params.set(name, '1');
    if (form.cheap.value !== data.order[0]) params.set('cheap', form.cheap.value);
    raglab.state.set('decisions', params);
  }

  function restore(params, first) {
    for (const [name, c] of controls) {
      c.field.value = params.get(name) ?? '';
      follow(c);
    }
    for (const name of ['local', 'serverless', 'unmeasured']) form[name].checked = params.get(name) === '1' && !form[name].disabled;
    form.cheap.value = data.order[0];
    if (params.has('cheap')) form.cheap.value = params.get('cheap');
    if (form.cheap.selectedIndex < 0) form.cheap.value = data.order[0];
    update();
    if (first) document.getElementById('decisions').scrollIntoView();
  }

  form.addEventListener('input', (event) => {
    for (const c of controls.values()) {
      if (event.target === c.slider) {
        const at = Number(c.slider.value);
        c.field.value = at >= c.steps.length ? '' : c.steps[at];
      }
      if (event.target === c.slider || event.target === c.field) follow(c);
    }
    update();
    store();
  });
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', (event) => {
    event.preventDefault();
    restore(new URLSearchParams(), false);
    store();
  });
  raglab.state.watch('decisions', restore);
})();
