/** edit-job-screen: to come with the next step. */
export function NewJobScreen() {
  return null;
}

export function EditJobScreen() {
  return null;
}
