// Returns a promise of where the mouse hits an element, or why it does not.
(selector) => new Promise((done) => {
  const limit = performance.now() + 20_000;
  let before = '';
  const name = (e) => e ? e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + ' "' + e.textContent.trim().slice(0, 30) + '"' : 'nothing';
  const look = () => {
    const e = document.querySelector(selector);
    let why = 'it is not there';
    if (e) {
      let box = e.getClientRects()[0];
      why = 'it is not shown';
      if (box && e.checkVisibility({ visibilityProperty: true })) {
        const middle = () => [box.left + box.width / 2, box.top + box.height / 2];
        const struck = () => {
          const hit = document.elementFromPoint(...middle());
          return [hit !== null && e.contains(hit), hit];
        };
        if (!struck()[0]) {
          e.scrollIntoView({ behavior: 'instant', block: 'center', inline: 'center' });
          box = e.getClientRects()[0];
        }
        const [x, y] = middle();
        const [strikes, hit] = struck();
        const at = [x, y].join(' ');
        why = 'the mouse hits ' + name(hit);
        if (strikes) {
          why = 'it moves';
          if (at === before) return done({ x, y, cannot: '' });
        }
        before = at;
      }
    }
    if (performance.now() > limit) return done({ x: 0, y: 0, cannot: why });
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})
