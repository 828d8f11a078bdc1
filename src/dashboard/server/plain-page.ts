/** A page without anything but words, and a form where `form` says so. */
export function plainPage(title: string, text: string, form = ""): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${text}</p>
${form}</main>
</body>
</html>
`;
}

export const notBuiltPage = plainPage(
  "The pages have not been built",
  "This runs from the sources, whose pages are built by <code>npm run build</code>, or from a bundle, in which they are not: leave " +
    "<code>percolatordb</code> out of the bundle. What they would show is at <code>api/overview</code> and the like.",
);

/** The form gives the token in the address, from where it is taken away at once. */
export const tokenPage = plainPage(
  "The dashboard asks for its token",
  "It was started with one: in a file, or by the program that serves it.",
  `<form method="get"><label>Token <input type="password" name="token" autocomplete="off" required></label> <button>Open</button></form>
`,
);
