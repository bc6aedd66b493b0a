// The page of the keys: names are listed, values are never shown again.
const { keys } = window;
const byId = (id) => document.getElementById(id);
const said = byId('said');

const tell = (result, good) => {
  said.textContent = result.ok ? good : [result.error.message, result.error.remedy].filter(Boolean).join(' ');
};

async function show() {
  const result = await keys.list();
  if (!result.ok) return tell(result, '');
  const { names, warning, available } = result.value;
  byId('warning').hidden = warning === null;
  byId('warning').textContent = warning ?? '';
  for (const field of byId('form').elements) field.disabled = !available;
  byId('names').replaceChildren(
    ...names.map((name) => {
      const line = document.createElement('li');
      const remove = document.createElement('button');
      remove.type = 'button';
      remove.textContent = `Remove ${name}`;
      remove.addEventListener('click', async () => {
        tell(await keys.remove(name), `${name} is removed.`);
        await show();
      });
      line.append(name, remove);
      return line;
    }),
  );
}

byId('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const name = byId('name').value;
  const result = await keys.set(name, byId('value').value);
  byId('value').value = '';
  tell(result, `${name} is kept.`);
  await show();
});

await show();
