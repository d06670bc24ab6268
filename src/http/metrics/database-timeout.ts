/** Maximum wait of a scrape for the database, in ms. */
const TIMEOUT_MS = 500

/** Returns the value of a read, or undefined if it fails or the database does not answer in time. */
export const withDatabaseTimeout = <T>(read: Promise<T>): Promise<T | undefined> =>
  new Promise(resolve => {
    const timer = setTimeout(() => resolve(undefined), TIMEOUT_MS)
    read.then(resolve, () => resolve(undefined)).finally(() => clearTimeout(timer))
  })
