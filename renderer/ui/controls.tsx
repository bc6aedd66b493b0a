import { type ButtonHTMLAttributes, type ReactNode, type Ref, useId } from 'react';
import { Icon, type IconName } from './icons.tsx';

const join = (...names: readonly (string | false | null | undefined)[]): string => names.filter(Boolean).join(' ');

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: 'plain' | 'primary' | 'danger' | 'quiet';
  readonly icon?: IconName;
  readonly busy?: boolean;
  readonly ref?: Ref<HTMLButtonElement>;
}

/** While `busy` it keeps its place, says so to screen readers and takes no clicks. */
export function Button({ tone = 'plain', icon, busy = false, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={join('button', `button-${tone}`, className)}
      aria-busy={busy || undefined}
      disabled={disabled || busy}
      {...rest}
    >
      {busy ? <Spinner /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon'> {
  readonly icon: IconName;
  /** Said by screen readers and shown as a tooltip. */
  readonly label: string;
}

export function IconButton({ icon, label, tone = 'quiet', className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      className={join('button', 'icon-button', `button-${tone}`, className)}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}

export const Spinner = () => <span className="spinner" aria-hidden="true" />;

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | null;
  /** Unit shown behind the control. */
  readonly unit?: string;
  readonly children: (ids: {
    readonly id: string;
    readonly 'aria-describedby': string | undefined;
    readonly 'aria-invalid': true | undefined;
  }) => ReactNode;
}

/** A labelled control with hint, unit and error. `children` gets the attributes that tie them together. */
export function Field({ label, hint, error, unit, children }: FieldProps) {
  const id = useId();
  const described = join(hint !== undefined && `${id}h`, error && `${id}e`) || undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="field-control">
        {children({ id, 'aria-describedby': described, 'aria-invalid': error ? true : undefined })}
        {unit && <span className="field-unit">{unit}</span>}
      </div>
      {hint !== undefined && (
        <div className="field-hint" id={`${id}h`}>
          {hint}
        </div>
      )}
      {error && (
        <div className="field-error" id={`${id}e`} role="alert">
          {error}
        </div>
      )}
    </div>
  );
}

interface TextFieldProps extends Omit<FieldProps, 'children'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'number' | 'search';
  readonly placeholder?: string;
  readonly list?: readonly string[];
  readonly inputMode?: 'numeric' | 'decimal';
  readonly disabled?: boolean;
}

/** Text or number with optional suggestions. */
export function TextField({
  value,
  onChange,
  type = 'text',
  placeholder,
  list,
  inputMode,
  disabled,
  ...field
}: TextFieldProps) {
  const listId = useId();
  return (
    <Field {...field}>
      {(ids) => (
        <>
          <input
            {...ids}
            className="input"
            type={type === 'number' ? 'text' : type}
            inputMode={type === 'number' ? (inputMode ?? 'decimal') : inputMode}
            value={value}
            placeholder={placeholder}
            disabled={disabled}
            list={list && list.length > 0 ? listId : undefined}
            autoComplete="off"
            spellCheck={false}
            onChange={(e) => onChange(e.target.value)}
          />
          {list && list.length > 0 && (
            <datalist id={listId}>
              {list.map((item) => (
                <option key={item} value={item} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

export interface Option<T extends string> {
  readonly value: T;
  readonly label: string;
  readonly disabled?: boolean;
}

interface SelectFieldProps<T extends string> extends Omit<FieldProps, 'children'> {
  readonly value: T;
  readonly options: readonly Option<T>[];
  readonly onChange: (value: T) => void;
  readonly disabled?: boolean;
}

export function SelectField<T extends string>({ value, options, onChange, disabled, ...field }: SelectFieldProps<T>) {
  return (
    <Field {...field}>
      {(ids) => (
        <select
          {...ids}
          className="input select"
          value={value}
          disabled={disabled}
          onChange={(e) => onChange(e.target.value as T)}
        >
          {options.map((o) => (
            <option key={o.value} value={o.value} disabled={o.disabled}>
              {o.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** One of a few, all visible. Arrow keys move, as in any radio group. */
export function Segmented<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: T;
  readonly options: readonly Option<T>[];
  readonly onChange: (value: T) => void;
}) {
  const name = useId();
  return (
    <fieldset className="segmented">
      <legend className="visually-hidden">{label}</legend>
      {options.map((o) => (
        <label key={o.value} className={join('segment', o.value === value && 'segment-on')}>
          <input
            type="radio"
            name={name}
            value={o.value}
            checked={o.value === value}
            disabled={o.disabled}
            onChange={() => onChange(o.value)}
          />
          {o.label}
        </label>
      ))}
    </fieldset>
  );
}

export function Checkbox({
  label,
  checked,
  onChange,
  hint,
  disabled,
}: {
  readonly label: ReactNode;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly hint?: ReactNode;
  readonly disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className="checkbox">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint ? `${id}h` : undefined}
        onChange={(e) => onChange(e.target.checked)}
      />
      <label htmlFor={id}>{label}</label>
      {hint && (
        <div className="field-hint" id={`${id}h`}>
          {hint}
        </div>
      )}
    </div>
  );
}

/** A caption over a group that names itself (Segmented). */
export const Labelled = ({ text, children }: { readonly text: string; readonly children: ReactNode }) => (
  <div className="field">
    <span className="labelled" aria-hidden="true">
      {text}
    </span>
    {children}
  </div>
);
