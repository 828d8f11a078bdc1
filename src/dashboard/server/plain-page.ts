/** A page of plain words, with a form if one is given. */
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
  "This server runs from the sources, whose pages <code>npm run build</code> builds, or from a bundle, which has no pages: leave " +
    "<code>percolatordb</code> out of the bundle. The data of the pages is at <code>api/overview</code> and its neighbours.",
);

/** Its form sends the token in the address; the answer removes it from there at once. */
export const tokenPage = plainPage(
  "The dashboard asks for its token",
  "Its token is in the file that it was started with, or comes from the program that serves it.",
  `<form method="get"><label>Token <input type="password" name="token" autocomplete="off" required></label> <button>Open</button></form>
`,
);
