// What a lockfile of npm says: which packages are needed by which, and whether what is installed is what it names.

/** Whether it names every optional package, also those of other platforms. */
export function isComplete(packages) {
  return Object.entries(packages).every(([path, entry]) =>
    Object.keys(entry.optionalDependencies ?? {}).every((name) => resolved(packages, path, name)),
  );
}

/** The paths of all packages that those `isRoot` chooses need to run, directly or through others. */
export function neededBy(packages, isRoot) {
  const needed = new Set(Object.keys(packages).filter(isRoot));
  for (const path of needed) {
    const { dependencies, optionalDependencies, peerDependencies, link, resolved: target } = packages[path];
    if (link) needed.add(target);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const found = resolved(packages, path, name);
      if (found) needed.add(found);
    }
  }
  return [...needed];
}

// As Node looks it up: beside the package, then in every folder above.
function resolved(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/'), 0))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[path]) return path;
    if (folder === '') return undefined;
  }
}

/** Whether `have`, an entry of npm's record, is the package that the lockfile names. Optional ones of other platforms may be missing. */
export function isThere(locked, have) {
  if (!have) return isDispensable(locked);
  return have.version === locked.version && have.link === locked.link && have.integrity === locked.integrity;
}

function isDispensable(entry) {
  const madeForUs =
    entry.os?.includes(process.platform) && entry.cpu?.includes(process.arch) && entry.libc === undefined;
  return entry.optional === true && !madeForUs;
}
