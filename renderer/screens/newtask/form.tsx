import { Fragment, useId } from 'react';
import { type DraftFault, type DraftParam, type DraftView, draftSizeLimit } from '../../../main/contract/own-task.ts';
import { Button, Checkbox, Field, IconButton, SelectField, TextField } from '../../ui/controls.tsx';
import { Panel } from '../../ui/panels.tsx';
import { dimsOf, errorText, faultAt, rangeOf, textOf, understoodText, wrongCells } from './model.ts';
import { useTasks } from './store.ts';

interface PartProps {
  readonly view: DraftView | null;
}

const useForm = () => {
  const form = useTasks((s) => s.fresh.form);
  const tried = useTasks((s) => s.fresh.tried);
  const set = useTasks((s) => s.setForm);
  return { form, tried, set };
};

/** What the source does not say. Every fault stands at its field. */
export function TaskForm({ view }: PartProps) {
  const task = faultAt(view, 'task');
  const known = (view?.parameters.length ?? 0) > 0;
  return (
    <>
      <WrapperPanel view={view} />
      {task !== null && (
        <p className="field-error" role="alert">
          {errorText(task, true)}
        </p>
      )}
      {known && (
        <>
          <SizesPanel view={view} />
          <ParametersPanel view={view} />
          <WorkPanel view={view} />
          <NamePanel view={view} />
        </>
      )}
    </>
  );
}

/** Only where there is a choice, or something wrong with it. */
function WrapperPanel({ view }: PartProps) {
  const { form, set } = useForm();
  const wrappers = view?.wrappers ?? [];
  if (wrappers.length < 2) return null;
  return (
    <Panel title="Wrapper">
      <SelectField
        label="The function that is to be optimized"
        value={wrappers.includes(form.wrapper) ? form.wrapper : ''}
        options={[
          { value: '', label: `Choose one of ${wrappers.length} …` },
          ...wrappers.map((name) => ({ value: name, label: name })),
        ]}
        // A choice that only the user can make: said at once.
        error={errorText(faultAt(view, 'wrapper'), true)}
        onChange={(wrapper) => set({ wrapper })}
      />
    </Panel>
  );
}

function SizesPanel({ view }: PartProps) {
  const { form, tried, set } = useForm();
  const dims = dimsOf(form, view);
  return (
    <Panel title="Dimensions and sizes">
      <div className="stack">
        <TextField
          label="Dimensions"
          value={form.dims ?? dims.join(', ')}
          placeholder="N, M"
          hint="Names of the whole numbers on which sizes depend: everything else is an expression over them."
          error={errorText(faultAt(view, 'sizes'), tried)}
          onChange={(text) => set({ dims: text })}
        />
        {dims.length > 0 && <SizeTable view={view} dims={dims} />}
      </div>
    </Panel>
  );
}

function SizeTable({ view, dims }: PartProps & { readonly dims: readonly string[] }) {
  const { form, tried, set } = useForm();
  const id = useId();
  const change = (row: number, name: string, text: string) =>
    set({ sizes: form.sizes.map((size, i) => (i === row ? { ...size, [name]: text } : size)) });
  return (
    <div>
      <table className="size-table">
        <caption>Sizes that are timed and scored</caption>
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">Size</span>
            </th>
            {dims.map((name, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a name may be there twice while it is typed
              <th key={`${i} ${name}`} scope="col" className="mono">
                {name}
              </th>
            ))}
            <td />
          </tr>
        </thead>
        <tbody>
          {form.sizes.map((size, row) => {
            const fault = faultAt(view, 'sizes', String(row));
            const text = errorText(fault, tried);
            const wrong = text === null ? [] : wrongCells(size, dims, fault);
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name, and are only added and removed
              <Fragment key={row}>
                <tr>
                  <th scope="row">{row + 1}</th>
                  {dims.map((name, i) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: as above
                    <td key={`${i} ${name}`}>
                      <input
                        className="input"
                        inputMode="numeric"
                        autoComplete="off"
                        aria-label={`${name} of size ${row + 1}`}
                        aria-invalid={wrong.includes(name) || undefined}
                        aria-describedby={text === null ? undefined : `${id}${row}`}
                        placeholder={row === 0 ? '1048576' : ''}
                        value={textOf(size, name)}
                        onChange={(e) => change(row, name, e.target.value)}
                      />
                    </td>
                  ))}
                  <td>
                    <IconButton
                      icon="trash"
                      label={`Remove size ${row + 1}`}
                      disabled={form.sizes.length === 1}
                      onClick={() => set({ sizes: form.sizes.filter((_, i) => i !== row) })}
                    />
                  </td>
                </tr>
                {text !== null && (
                  <tr>
                    <td />
                    <td colSpan={dims.length + 1} className="field-error" id={`${id}${row}`} role="alert">
                      {text}
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
      <Button
        icon="plus"
        disabled={form.sizes.length >= draftSizeLimit}
        onClick={() => set({ sizes: [...form.sizes, {}] })}
      >
        Add a size
      </Button>
    </div>
  );
}

function ParametersPanel({ view }: PartProps) {
  return (
    <Panel title={`Parameters of ${view?.wrapper ?? 'the wrapper'}, as understood`}>
      <ul className="params">
        {view?.parameters.map((param) => (
          <li key={param.name}>
            <div className="param-head">
              <code>
                {param.type} {param.name}
              </code>
              <span className="muted">{understoodText(param)}</span>
            </div>
            <ParameterFields param={param} view={view} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function ParameterFields({ param, view }: { readonly param: DraftParam } & PartProps) {
  const { form, tried, set } = useForm();
  const { name } = param;
  const dims = dimsOf(form, view);
  if (param.role === 'scalar')
    return (
      <TextField
        label={`Value of ${name}`}
        value={textOf(form.values, name)}
        placeholder={dims.includes(name) ? name : param.type === 'int' || param.type === 'long' ? 'N*M' : '0.5'}
        error={errorText(faultAt(view, 'values', name), tried)}
        onChange={(text) => set({ values: { ...form.values, [name]: text } })}
      />
    );
  return (
    <div className="stack">
      <TextField
        label={`Elements of ${name}`}
        value={textOf(form.counts, name)}
        placeholder={dims.length === 1 ? dims[0] : dims.join('*')}
        error={errorText(faultAt(view, 'counts', name), tried)}
        onChange={(text) => set({ counts: { ...form.counts, [name]: text } })}
      />
      {param.mayRead && (
        <Checkbox
          label={`${name} is read as well as written`}
          checked={form.inout.includes(name)}
          onChange={(on) => set({ inout: on ? [...form.inout, name] : form.inout.filter((other) => other !== name) })}
        />
      )}
      {param.range !== null && <RangeFields name={name} fault={faultAt(view, 'ints', name)} least={dims[0] ?? 'N'} />}
    </div>
  );
}

function RangeFields({
  name,
  fault,
  least,
}: {
  readonly name: string;
  readonly fault: DraftFault | null;
  readonly least: string;
}) {
  const { form, tried, set } = useForm();
  const range = rangeOf(form, name);
  const change = (part: object) => set({ ints: { ...form.ints, [name]: { ...range, ...part } } });
  const error = errorText(fault, tried);
  return (
    <div className="field-row">
      <TextField
        label={`${name} from`}
        value={range.lo}
        placeholder="0"
        error={error}
        onChange={(lo) => change({ lo })}
      />
      <TextField label={`${name} below`} value={range.hi} placeholder={least} onChange={(hi) => change({ hi })} />
    </div>
  );
}

function WorkPanel({ view }: PartProps) {
  const { form, tried, set } = useForm();
  return (
    <Panel title="Work of a call">
      <TextField
        label="Floating-point operations, at least"
        value={form.flops}
        placeholder={`2*${dimsOf(form, view).join('*') || 'N'}`}
        hint="For the physical floor and the roofline. A lower bound is right, more is not; 0 for a kernel that only moves data."
        error={errorText(faultAt(view, 'flops'), tried)}
        onChange={(flops) => set({ flops })}
      />
    </Panel>
  );
}

function NamePanel({ view }: PartProps) {
  const { form, tried, set } = useForm();
  return (
    <Panel title="Name and description">
      <div className="stack">
        <div className="field-row">
          <TextField
            label="Id"
            value={form.id}
            placeholder={view?.wrapper ?? ''}
            error={errorText(faultAt(view, 'id'), tried)}
            onChange={(id) => set({ id })}
          />
          <TextField
            label="Title, a line for lists"
            value={form.title}
            placeholder={form.id.trim() || (view?.wrapper ?? '')}
            error={errorText(faultAt(view, 'title'), tried)}
            onChange={(title) => set({ title })}
          />
        </div>
        <Field
          label="What is computed, as mathematics: told to the agents"
          hint="Empty: they are told that the source is the definition."
          error={errorText(faultAt(view, 'prompt'), tried)}
        >
          {(ids) => (
            <textarea
              {...ids}
              className="input"
              rows={3}
              maxLength={20_000}
              placeholder="y[i] = alpha*x[i] + y[i] for i in 0 … n-1"
              value={form.prompt}
              onChange={(e) => set({ prompt: e.target.value })}
            />
          )}
        </Field>
      </div>
    </Panel>
  );
}
