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
  "This server runs from the sources, or from a bundle. In the sources, run <code>npm run build</code>. For a bundle, leave " +
    "<code>percolatordb</code> out of it, because a bundle has no pages. The data of the pages is under <code>api/</code>, such as <code>api/overview</code>.",
);

/**
 * The page that asks for the token. Its form sends the token in the URL. The server's answer
 * removes it from the URL at once.
 */
export const tokenPage = plainPage(
  "The dashboard asks for its token",
  "Its token is in the file that it was started with, or comes from the program that serves it.",
  `<form method="get"><label>Token <input type="password" name="token" autocomplete="off" required></label> <button>Open</button></form>
`,
);
