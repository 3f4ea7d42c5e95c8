// What parts of the page show is in the address, so that it can be sent: after #, for
// each part that has something to say its id, "?" and its parameters, separated by ";".
// The part that changed last stands first. A link within the page puts its own place
// before them all.
raglab.state = (() => {
  const watchers = new Map();
  let states = new Map();
  let anchor = '';

  function read() {
    states = new Map();
    anchor = '';
    for (const piece of location.hash.slice(1).split(';')) {
      const at = piece.indexOf('?');
      if (at > 0) states.set(piece.slice(0, at), new URLSearchParams(piece.slice(at + 1)));
      else if (states.size === 0) anchor = piece;
    }
  }

  // Browsers take only so many changes of the address, some 100 in half a minute: of more
  // the last one is written when the time is over.
  const span = 10_000;
  const most = 30;
  let times = [];
  let waiting = 0;

  function write() {
    clearTimeout(waiting);
    const now = performance.now();
    times = times.filter((time) => now - time < span);
    if (times.length >= most) {
      waiting = setTimeout(write, span - (now - times[0]));
      return;
    }
    times.push(now);
    const pieces = anchor ? [anchor] : [];
    for (const [id, params] of states) pieces.push(id + '?' + params);
    history.replaceState(null, '', '#' + pieces.join(';'));
  }

  // set replaces a part's parameters; none takes the part out.
  function set(id, params) {
    const others = [...states].filter(([other]) => other !== id);
    states = new Map(params.size > 0 ? [[id, params], ...others] : others);
    anchor = '';
    write();
  }

  const isFirst = (id) => anchor === '' && [...states.keys()][0] === id;

  // watch calls show with a part's parameters, now and when the address changes, and
  // tells whether the part is the first of them.
  function watch(id, show) {
    watchers.set(id, show);
    show(states.get(id) || new URLSearchParams(), isFirst(id));
  }

  addEventListener('hashchange', () => {
    if (!location.hash.includes('?')) { // a link to a part of the page: nothing else changes
      anchor = location.hash.slice(1);
      if (states.size > 0) write();
      return;
    }
    read();
    for (const [id, show] of watchers) show(states.get(id) || new URLSearchParams(), isFirst(id));
    go();
  });

  // go scrolls to the place that stands before the parts; a place alone the browser finds.
  function go() {
    if (anchor !== '' && states.size > 0) document.getElementById(anchor)?.scrollIntoView();
  }

  read();
  addEventListener('DOMContentLoaded', go, { once: true });
  return { set, watch };
})();
