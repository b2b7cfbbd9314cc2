// Addresses of the server, which a proxy may serve below a path of its own.

const { root } = document.documentElement.dataset;

/** The address of a path of the server. */
export const at = path => root + path;
