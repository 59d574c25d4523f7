/** The script of the documentation page. Whatever it shows goes in as text, never as markup. */
export const DOCS_SCRIPT = `
'use strict';
const byId = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const pretty = (value) => JSON.stringify(value, null, 2);

const key = byId('key');
key.value = sessionStorage.getItem('carillon-key') ?? '';
key.addEventListener('input', () => sessionStorage.setItem('carillon-key', key.value));

const typeOf = (schema) => {
  if (schema.enum) return schema.enum.join(' | ');
  if (schema.items) return typeOf(schema.items) + ' …';
  return [schema.type].flat().filter(Boolean).join(' | ');
};

function fieldTable(fields, required = []) {
  return make('table', {}, ...fields.map(([name, schema]) => {
    const shapes = [schema, ...(schema.anyOf ?? [])].map(typeOf).filter((word) => word && word !== 'null');
    const cells = [name + (required.includes(name) ? ' *' : ''), shapes.join(' | '), schema.description ?? ''];
    return make('tr', {}, ...cells.map((textContent) => make('td', { textContent })));
  }));
}

function field(parameter) {
  const { name, required, description, schema, example } = parameter;
  const hint = [typeOf(schema), required ? 'required' : '', description].filter(Boolean).join(', ');
  const input = make('input', { name, placeholder: example ?? '' });
  return { input, row: make('label', {}, make('span', { textContent: name + '  (' + parameter.in + ') ' + hint }), input) };
}

async function send({ method, path, fields, body, output }) {
  let url = path;
  const query = new URLSearchParams();
  // A page can show an answer that ends; a stream of events would keep it waiting.
  const headers = { accept: 'application/json' };
  if (key.value) headers.authorization = 'Bearer ' + key.value;
  for (const { parameter, input } of fields) {
    if (parameter.in === 'path' && input.value === '') {
      output.textContent = parameter.name + ' is required.';
      return;
    }
    if (parameter.in === 'path') url = url.replace('{' + parameter.name + '}', encodeURIComponent(input.value));
    else if (input.value === '') continue;
    else if (parameter.in === 'header') headers[parameter.name] = input.value;
    else query.append(parameter.name, input.value);
  }
  if (query.size > 0) url += '?' + query;
  const request = { method: method.toUpperCase(), headers };
  if (body) {
    headers['content-type'] = 'application/json';
    request.body = body.value;
  }
  output.textContent = '…';
  try {
    const answer = await fetch(url, request);
    const text = await answer.text();
    const shown = ['etag', 'link', 'location', 'retry-after', 'x-total-count', 'x-request-id']
      .filter((name) => answer.headers.get(name))
      .map((name) => name + ': ' + answer.headers.get(name));
    let content = text;
    try { content = pretty(JSON.parse(text)); } catch { content = text; }
    output.textContent = [request.method + ' ' + url, answer.status + ' ' + answer.statusText, ...shown, '', content].join('\\n');
  } catch (error) {
    output.textContent = 'The request failed: ' + error.message;
  }
}

function operation(method, path, described) {
  const inside = make('div', {}, make('p', { className: 'note', textContent: described.description }));
  const fields = described.parameters.map((parameter) => {
    const { input, row } = field(parameter);
    inside.append(row);
    return { parameter, input };
  });
  const content = described.requestBody?.content['application/json'];
  let body;
  if (content) {
    const examples = Object.entries(content.examples ?? {});
    body = make('textarea', { spellcheck: false, value: examples[0] ? pretty(examples[0][1].value) : '{}' });
    if (examples.length > 1) {
      const choose = make('select', {}, ...examples.map(([name]) => make('option', { textContent: name })));
      choose.addEventListener('change', () => { body.value = pretty(examples[choose.selectedIndex][1].value); });
      inside.append(make('label', {}, make('span', { textContent: 'Example' }), choose));
    }
    inside.append(make('label', {}, make('span', { textContent: 'Body (application/json)' }), body));
    const fields = Object.entries(content.schema.properties ?? {});
    if (fields.length > 0) {
      inside.append(make('details', {}, make('summary', { textContent: 'Fields' }), make('div', {}, fieldTable(fields, content.schema.required))));
    }
  }
  const output = make('pre', { hidden: true, role: 'status' });
  const button = make('button', { type: 'button', textContent: 'Send' });
  button.addEventListener('click', () => {
    output.hidden = false;
    send({ method, path, fields, body, output });
  });
  inside.append(button, output);
  for (const [status, response] of Object.entries(described.responses)) {
    const [media] = Object.values(response.content ?? {});
    if (!response.description) continue;
    inside.append(make('p', { className: 'note', textContent: status + ': ' + response.description }));
    if (media?.example !== undefined) inside.append(make('pre', { textContent: pretty(media.example) }));
  }
  const summary = make('summary', {},
    make('span', { className: 'method', textContent: method.toUpperCase() }),
    make('span', { className: 'path', textContent: path }),
    make('span', { className: 'words', textContent: described.summary }));
  const details = make('details', {}, summary, inside);
  details.dataset.words = [method, path, described.summary, described.description].join(' ').toLowerCase();
  return details;
}

async function show() {
  const answer = await fetch('openapi.json');
  if (!answer.ok) throw new Error('openapi.json answered ' + answer.status);
  const api = await answer.json();
  byId('about').textContent = api.info.description;
  const main = byId('operations');
  main.replaceChildren();
  for (const { name } of api.tags) {
    const section = make('section', {}, make('h2', { textContent: name }));
    for (const [path, methods] of Object.entries(api.paths)) {
      for (const [method, described] of Object.entries(methods)) {
        if (described.tags[0] === name) section.append(operation(method, path, described));
      }
    }
    main.append(section);
  }
  byId('find').addEventListener('input', ({ target }) => {
    const words = target.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const section of main.children) {
      const all = [...section.querySelectorAll(':scope > details')];
      for (const details of all) details.hidden = !words.every((word) => details.dataset.words.includes(word));
      section.hidden = all.every((details) => details.hidden);
    }
  });
}
show().catch((error) => { byId('operations').textContent = 'The document could not be read: ' + error.message; });
`;
