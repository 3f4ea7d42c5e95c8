// What parts of the page show is in the address, so that it can be sent: after #, for
// each part that has something to say its id, "?" and its parameters, separated by ";".
// The part that changed last stands first.
raglab.state = (() => {
  const watchers = new Map();

  function read() {
    const states = new Map();
    for (const piece of location.hash.slice(1).split(';')) {
      const at = piece.indexOf('?');
      if (at > 0) states.set(piece.slice(0, at), new URLSearchParams(piece.slice(at + 1)));
    }
    return states;
  }

  // set replaces a part's parameters; none takes the part out.
  function set(id, params) {
    const states = read();
    states.delete(id);
    const pieces = [];
    if (String(params) !== '') pieces.push(id + '?' + params);
    for (const [other, its] of states) pieces.push(other + '?' + its);
    history.replaceState(null, '', '#' + pieces.join(';'));
  }

  // watch calls show with a part's parameters, now and when the address changes.
  function watch(id, show) {
    watchers.set(id, show);
    const states = read();
    show(states.get(id) || new URLSearchParams(), [...states.keys()][0] === id);
  }

  addEventListener('hashchange', () => {
    const states = read();
    if (states.size === 0) return; // a link to a part of the page
    for (const [id, show] of watchers) show(states.get(id) || new URLSearchParams(), [...states.keys()][0] === id);
  });

  return { set, watch };
})();
