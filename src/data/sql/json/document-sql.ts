import type { Scalar } from '../../../model/model.js'
import { quoteIdentifier } from '../columns.js'
import { STORED_FIELDS } from './stored-document.js'

// The SQL of a migration that changes the stored fields of listings (README, "To add a field").

/** A function of PostgreSQL takes at most 100 arguments. Each field is two of them. */
const FIELDS_PER_CONCAT = 45

/** Renders the JSON text of a value. Arrays are never null, and to_json() of an empty one is slow. */
function toJsonText({ name, type, collection }: Scalar): string {
  const column = `p.${quoteIdentifier(name).sql}`
  if (collection) return `CASE WHEN ${column} = '{}' THEN '[]' ELSE to_json(${column})::text END`
  return `coalesce(${toNullableJsonText(column, type)}, 'null')`
}

function toNullableJsonText(column: string, type: Scalar['type']): string {
  if (type === 'DateTimeOffset')
    return `'"' || to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'`
  if (type === 'Decimal') return `to_json(trim_scale(${column}))::text`
  return type === 'String' || type === 'Date' ? `to_json(${column})::text` : `${column}::text`
}

const toMember = (field: Scalar, i: number): string =>
  `      '${i === 0 ? '{' : ','}"${field.name}":', ${toJsonText(field)}`

function renderFunction(): string {
  const members = STORED_FIELDS.map(toMember)
  const groups: string[] = []
  for (let i = 0; i < members.length; i += FIELDS_PER_CONCAT)
    groups.push(`    concat(\n${members.slice(i, i + FIELDS_PER_CONCAT).join(',\n')}\n    ),\n`)
  return `CREATE OR REPLACE FUNCTION listing_document(p "Property") RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN concat(
${groups.join('')}    '}'
  );
END
$$;
`
}

/** Renders the statements that follow the `ALTER TABLE` of a stored field. They rewrite all documents. */
export function renderDocumentSql(): string {
  const columns = ['Document', ...STORED_FIELDS.map(f => f.name)].map(name => `"${name}"`).join(', ')
  return `-- The stored JSON of listings, printed by \`npm run -s schema -- --document\`. The table is locked and rewritten.
DROP TRIGGER write_document ON "Property";
${renderFunction()}
ALTER TABLE "Property"
  ALTER COLUMN "Document" TYPE TEXT COLLATE "C" USING listing_document("Property".*),
  ALTER COLUMN "Document" SET STORAGE EXTERNAL;
CREATE TRIGGER write_document BEFORE INSERT OR UPDATE OF
${`${columns}, `.replace(/(.{1,148}), /g, '  $1,\n').slice(0, -2)}
  ON "Property" FOR EACH ROW EXECUTE FUNCTION write_document();
`
}
