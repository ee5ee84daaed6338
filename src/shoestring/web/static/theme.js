// The theme that was chosen, before anything is drawn. The server reads the same cookie when it draws pictures.
const found = document.cookie.match(/(?:^|; )shoestring-theme=(dark|light)/);
if (found) document.documentElement.dataset.theme = found[1];
