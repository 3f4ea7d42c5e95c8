// Package html writes a report as one self-contained HTML file: no network, no
// server, nothing that is loaded from elsewhere.
//
// A page is a list of sections, see [sections]. A section has an id, a function that
// makes its part of the page from the report, and files in the folder assets that
// bear its id: ID.tmpl, the template of what stands below its heading, and, where it
// needs them, ID.js and ID.css. Adding one is these files and one line in the list.
//
// All text of documents, questions, titles, ids and options is hostile. It reaches the
// page through html/template, or as JSON in a script element of the type
// application/json, which a script reads by raglab.data(ID) and puts into the document
// as text, never as markup. A Content-Security-Policy allows the page's own script and
// style by their hashes and nothing else: handlers in attributes, style attributes and
// requests are refused by the browser, so that a script sets style by the CSSOM
// (element.style.width) and listens by addEventListener.
//
// The script of a page is base.js and the scripts of its sections one after the other;
// each of the latter is a function of its own that runs at once, so that no name of
// one is seen by another. What a section shows may be in the page's address: state.js
// keeps it there, by section.
//
// Rankings and texts for the question explorer come as [report.Details]; they stand in
// the page packed by gzip, which the browser unpacks when it is idle.
package html
