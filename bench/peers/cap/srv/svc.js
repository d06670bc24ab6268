const cds = require('@sap/cds')
// Sets the fields that the interface requires of a create: a key and the draft status.
module.exports = class extends cds.ApplicationService {
  init() {
    this.before('CREATE', 'Property', req => {
      Object.assign(req.data, {
        ListingKey: `Draft${cds.utils.uuid()}`,
        ContractStatus: 'Draft',
        MlsStatus: 'Draft',
        StandardStatus: 'Incomplete',
        OriginatingSystemName: 'BENCH',
      })
    })
    this.before('UPDATE', 'Property', async req => {
      const m = req.data.ChangedByMemberKey
      if (!m || !(await SELECT.one.from('Member').columns('MemberKey').where({ MemberKey: m })))
        req.reject(400, 'ChangedByMemberKey')
    })
    return super.init()
  }
}
