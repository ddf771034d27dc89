import type { ComponentChildren } from 'preact';

interface PageHeadProps {
  /** The page above this one. */
  readonly up?: readonly [address: string, title: ComponentChildren];
  readonly title: ComponentChildren;
  readonly state?: ComponentChildren;
  /** What the page is about, in a few words. */
  readonly about?: ComponentChildren;
  /** Whether readers of screens are told when `about` changes. */
  readonly isStatus?: boolean;
  /** What can be done from here. */
  readonly children?: ComponentChildren;
}

/** The head of a page: the way up, its title, what it is about, and its buttons. */
export function PageHead({ up, title, state, about, isStatus = false, children }: PageHeadProps) {
  return (
    <div class="row top">
      {up !== undefined && <a href={up[0]}>{up[1]}</a>}
      <h1>{title}</h1>
      {state}
      <span class="soft grow about" {...(isStatus && { role: 'status' })}>
        {about}
      </span>
      {children}
    </div>
  );
}
